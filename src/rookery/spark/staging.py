"""Two-phase output: a reader of the folder sees each batch whole and once, or not at all (spec, spark 6 and 10.7).

Phase one, in the workers: each task writes a file of its own into the *staging* folder, a sibling of the output and on
the same file system, and reports its name. Phase two, on the driver: the reported files of one batch go into a folder
`batch=<number>` that appears in the output by one atomic rename. A batch that is replayed after a crash finds its
folder there and drops its files. What a killed task leaves is in staging, never in the output, and is swept at the
next start.

A batch job has one such publication: the folder itself. Object stores have no rename: see `manifests`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from rookery.errors import SinkError

__all__ = ["Format", "Staged", "StagedOutput", "file_writer", "other_query"]

Format = Literal["parquet", "jsonl"]


@dataclass(frozen=True, slots=True)
class Staged:
    """What one task wrote: the file's name in staging (None when it had no row) and its rows."""

    name: str | None
    rows: int


@dataclass(frozen=True, slots=True)
class StagedOutput:
    """An output folder and the staging folder beside it."""

    path: str
    format: Format = "parquet"

    @property
    def output(self) -> Path:
        """The folder that readers see."""
        return Path(self.path)

    @property
    def staging(self) -> Path:
        """The sibling where files wait."""
        return self.output.with_name(f".{self.output.name}.staging")

    def write(self, batches: Iterable[pa.RecordBatch | pa.Table], schema: pa.Schema) -> Staged:
        """Write one task's rows to a staged file; runs in a worker."""
        with self._clear_errors():
            self.staging.mkdir(parents=True, exist_ok=True)
            path = self.staging / f"{uuid.uuid4().hex}.{self.format}"
            rows = 0
            try:
                with file_writer(path, schema, self.format) as put:
                    for batch in batches:
                        rows += put(batch)
                if rows:
                    _sync(path)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
            if not rows:
                path.unlink(missing_ok=True)
            return Staged(path.name if rows else None, rows)

    def publish_batch(self, staged: Iterable[Staged], number: int, schema: pa.Schema) -> bool:
        """Make one micro-batch visible, once; runs on the driver. Tells whether it was new."""
        with self._clear_errors():
            self.output.mkdir(parents=True, exist_ok=True)
            target = self.output / f"batch={number}"
            names = [part.name for part in staged if part.name is not None]
            if target.exists():
                self.discard(names)
                return False
            if not names and any(self.output.iterdir()):
                return True  # nothing matched: no folder is needed, the schema is already readable from another batch
            self._assemble(names, schema, target)
            return True

    def publish(self, staged: Iterable[Staged], schema: pa.Schema, *, overwrite: bool = False) -> None:
        """Make the result of a batch job visible as the whole folder."""
        with self._clear_errors():
            names = [part.name for part in staged if part.name is not None]
            self._assemble(names, schema, self.output, overwrite=overwrite)
            shutil.rmtree(self.staging, ignore_errors=True)

    def check_free(self, *, overwrite: bool = False) -> None:
        """Refuse before the work starts an output that already holds something."""
        if self.output.exists() and not self.output.is_dir():
            raise SinkError(f"{self.output} is a file; the output is a folder")
        if not overwrite and self.output.is_dir() and any(self.output.iterdir()):
            raise SinkError(f"{self.output} already holds files: choose another folder, or overwrite it (--overwrite)")

    def claim(self, query: str) -> None:
        """Bind the output to one query: batch 0 of another query would be taken for a replay and dropped."""
        with self._clear_errors():
            self.staging.mkdir(parents=True, exist_ok=True)
            mark = self.staging / "query.json"
            if mark.exists():
                owner = json.loads(mark.read_text(encoding="utf-8"))["query"]
                if owner != query:
                    raise other_query(self.output)
                return
            if self.output.is_dir() and any(self.output.glob("batch=*")):
                raise SinkError(f"{self.output} holds batches of an unknown stream: choose another output folder")
            fresh = mark.with_name(f"query.{uuid.uuid4().hex}")
            fresh.write_text(json.dumps({"query": query}), encoding="utf-8")
            fresh.replace(mark)

    def sweep(self) -> int:
        """Remove what killed tasks left in staging; call only when no query writes here. Returns how many files."""
        swept = 0
        for path in self.staging.glob("*"):
            if path.name != "query.json":
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
                swept += 1
        return swept

    def discard(self, names: Iterable[str]) -> None:
        """Remove staged files that are not wanted."""
        for name in names:
            (self.staging / name).unlink(missing_ok=True)

    def _assemble(self, names: list[str], schema: pa.Schema, target: Path, *, overwrite: bool = False) -> None:
        self.staging.mkdir(parents=True, exist_ok=True)
        whole = self.staging / f"whole-{uuid.uuid4().hex}"
        whole.mkdir()
        for number, name in enumerate(names):
            os.rename(self.staging / name, whole / f"part-{number:05d}.{self.format}")
        if not names:
            with file_writer(whole / f"part-00000.{self.format}", schema, self.format):
                pass  # no match at all is a result too: a file that says which columns it would have
        _sync(whole)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir() and (overwrite or not any(target.iterdir())):
            old = self.staging / f"old-{uuid.uuid4().hex}"
            os.rename(target, old)
            os.rename(whole, target)
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(whole, target)
        _sync(target.parent)

    @contextlib.contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Say what to do about a full disk or a forbidden folder."""
        try:
            yield
        except SinkError:
            raise
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise SinkError(
                    errno.ENOSPC,
                    f"no space left for {self.output}: free some room and run again; nothing was published",
                ) from error
            raise SinkError(error.errno, f"cannot write {self.output}: {error.strerror or error}") from error


def other_query(output: Any) -> SinkError:
    """Return the refusal of a second stream."""
    return SinkError(
        f"{output} holds the output of another stream (or its checkpoint was deleted): choose another output folder, "
        "or start with the checkpoint that wrote it"
    )


@contextlib.contextmanager
def file_writer(path: Path, schema: pa.Schema, kind: Format) -> Iterator[Callable[[Any], int]]:
    """Open one output file; gives the function that appends a batch and returns its rows."""
    if kind == "parquet":
        import pyarrow.parquet as pq

        with pq.ParquetWriter(path, schema, compression="zstd") as writer:

            def put(batch: Any) -> int:
                table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
                if table.num_rows:
                    writer.write_table(table.cast(schema))
                return int(table.num_rows)

            yield put
    else:
        with path.open("w", encoding="utf-8") as file:

            def put_lines(batch: Any) -> int:
                for row in batch.to_pylist():
                    file.write(json.dumps(row, default=str, ensure_ascii=False) + "\n")
                return int(batch.num_rows)

            yield put_lines


def _sync(path: Path) -> None:
    """Force a file or a folder to the disk: a rename must not become visible before what it names."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
