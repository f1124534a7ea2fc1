"""Two-phase output into an object store, which has no rename: a manifest decides, copies inside the store follow.

Phase one is that of `staging`: each task writes a file of its own under the *staging* name beside the output, and
reports it. Phase two, on the driver: the manifest of a micro-batch, `_manifests/<number>`, is created exclusively. It
says which staged files are this batch, for ever. Each of them is then copied to its name in `batch=<number>/` and
removed from staging. A replay after a crash finds the manifest, goes on with the copies that it names, and drops its
own files. So whoever lists the output sees a row at most once at any moment, and each row once when the batch is done;
only while the copies run may a batch be seen in part, and its manifest says what is still to come.

A batch job has one such publication: its files, and then `_manifest`, which says that they are all there.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from rookery.errors import SinkError
from rookery.model.storage import ObjectPath, absolute, create, names_in, path_of, put_file, remove_tree
from rookery.spark.staging import Format, Staged, StagedOutput, file_writer, other_query

__all__ = ["ManifestOutput", "output_of"]


@dataclass(frozen=True, slots=True)
class ManifestOutput:
    """An output in an object store, and the staging names beside it."""

    path: str
    format: Format = "parquet"

    @property
    def output(self) -> ObjectPath:
        """What readers see."""
        path = path_of(self.path)
        assert isinstance(path, ObjectPath)
        return path

    @property
    def staging(self) -> ObjectPath:
        """The sibling where files wait."""
        return self.output.with_name(f".{self.output.name}.staging")

    def write(self, batches: Iterable[pa.RecordBatch | pa.Table], schema: pa.Schema) -> Staged:
        """Write one task's rows to a staged file; runs in a worker, which needs the room for it on its disk."""
        with self._clear_errors():
            name, rows = f"{uuid.uuid4().hex}.{self.format}", 0
            with tempfile.TemporaryDirectory(prefix="rookery-staged-") as folder:
                with file_writer(Path(folder) / name, schema, self.format) as put:
                    for batch in batches:
                        rows += put(batch)
                if rows:
                    put_file(Path(folder) / name, self.staging / name)
            return Staged(name if rows else None, rows)

    def publish_batch(self, staged: Iterable[Staged], number: int, schema: pa.Schema) -> bool:
        """Decide one micro-batch, once, and make it visible; runs on the driver. Tells whether it was new."""
        with self._clear_errors():
            names = [part.name for part in staged if part.name is not None]
            manifest = self._manifest(number)
            if not names and not manifest.is_file():
                if self.output.is_dir():
                    return True  # nothing matched: no file is needed, another batch has the schema
                names = [self._empty(schema)]
            decided = {"files": [[name, f"part-{place:05d}.{self.format}"] for place, name in enumerate(names)]}
            new = create(manifest, json.dumps(decided).encode())
            self._finish(number)
            if not new:
                self.discard(names)
            return new

    def publish(self, staged: Iterable[Staged], schema: pa.Schema, *, overwrite: bool = False) -> None:
        """Make the result of a batch job visible, the manifest last."""
        with self._clear_errors():
            names = [part.name for part in staged if part.name is not None] or [self._empty(schema)]
            mark, whole = uuid.uuid4().hex[:8], self.output / "_manifest"
            if overwrite:
                remove_tree(self.output)
            made = [f"part-{place:05d}-{mark}.{self.format}" for place in range(len(names))]
            for name, shown in zip(names, made, strict=True):
                (self.staging / name).copy_to(self.output / shown)
            if not create(whole, json.dumps({"files": made}).encode()):
                for shown in made:
                    (self.output / shown).unlink()
                raise SinkError(f"{self.output}: another job was quicker to write there; choose another place")
            remove_tree(self.staging)

    def check_free(self, *, overwrite: bool = False) -> None:
        """Refuse before the work starts an output that already holds something."""
        with self._clear_errors():
            if self.output.is_file():
                raise SinkError(f"{self.output} is a file; the output is a folder")
            if not overwrite and self.output.is_dir():
                raise SinkError(
                    f"{self.output} already holds files: choose another folder, or overwrite it (--overwrite)"
                )

    def claim(self, query: str) -> None:
        """Bind the output to one query: batch 0 of another query would be taken for a replay and dropped."""
        with self._clear_errors():
            mark = self.staging / "query.json"
            if not mark.is_file() and any(name.startswith("batch=") for name in names_in(self.output)):
                raise SinkError(f"{self.output} holds batches of an unknown stream: choose another output folder")
            if not create(mark, json.dumps({"query": query}).encode()):
                owner = json.loads(mark.read_text())["query"]
                if owner != query:
                    raise other_query(self.output)

    def sweep(self) -> int:
        """Finish the last batch that was decided, and remove what killed tasks left; call only when no query writes."""
        with self._clear_errors():
            decided = [int(name) for name in names_in(self.output / "_manifests") if name.isdigit()]
            if decided:
                self._finish(max(decided))
            left = [name for name in names_in(self.staging) if name != "query.json"]
            self.discard(left)
            return len(left)

    def discard(self, names: Iterable[str]) -> None:
        """Remove staged files that are not wanted."""
        for name in names:
            (self.staging / name).unlink()

    def _manifest(self, number: int) -> ObjectPath:
        return self.output / "_manifests" / str(number)

    def _finish(self, number: int) -> None:
        """Bring the files of a decided batch to their names; what is no longer staged is there."""
        waiting = set(names_in(self.staging))
        for name, shown in json.loads(self._manifest(number).read_text())["files"]:
            if name in waiting:
                (self.staging / name).copy_to(self.output / f"batch={number}" / shown)
                (self.staging / name).unlink()

    def _empty(self, schema: pa.Schema) -> str:
        """Stage a file without rows: no match at all is a result too, and says which columns it would have."""
        name = f"{uuid.uuid4().hex}.{self.format}"
        with tempfile.TemporaryDirectory(prefix="rookery-staged-") as folder:
            with file_writer(Path(folder) / name, schema, self.format):
                pass
            put_file(Path(folder) / name, self.staging / name)
        return name

    @contextlib.contextmanager
    def _clear_errors(self) -> Iterator[None]:
        try:
            yield
        except SinkError:
            raise
        except OSError as error:
            raise SinkError(f"cannot write {self.output}: {error}") from error


Output = StagedOutput | ManifestOutput


def output_of(path: Any, format: Format = "parquet") -> Output:
    """Return the two-phase output at a path: on a disk, or in an object store."""
    place = absolute(path)
    return ManifestOutput(place, format) if isinstance(path_of(place), ObjectPath) else StagedOutput(place, format)
