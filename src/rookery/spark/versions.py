"""Which set of rules judged which micro-batch: recorded before matching, reused on replay (spec, spark 10, promise 2).

Beside the checkpoint of a stream there is a folder `rookery`:

    query.json            which query this is, and the events' schema
    sets/<set_version>/   a compiled set, the records it came from, and what was quarantined
    versions/<batch>      the set_version that judges this batch

A set appears by one rename of a finished folder, so its number is taken once and it is whole. A batch is bound by the
exclusive creation of its file: the first task of the batch decides, every other task and every replay reads. So a
rule edit that arrives while a batch runs, or between a crash and the replay, cannot change what that batch means.
Without this, "exactly once" would be false after an edit. All workers must see the folder (one machine, or a shared
file system).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.errors import CheckpointError
from rookery.spark.carriers import FileSet

if TYPE_CHECKING:
    from rookery.spark.rules import CompiledRules

__all__ = ["SetVersion", "VersionLog"]


@dataclass(frozen=True, slots=True)
class SetVersion:
    """One published set: its number, the fingerprint of its source, its content hash, and what was set aside."""

    number: int
    fingerprint: str
    content_hash: str
    rules: int
    quarantined: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class VersionLog:
    """The folder beside one checkpoint."""

    checkpoint: str

    @property
    def folder(self) -> Path:
        """Where everything is kept."""
        return Path(self.checkpoint) / "rookery"

    def open(self, identity: dict[str, Any]) -> str:
        """Claim the checkpoint for this query, or check that it is the same one; return the query's id."""
        path = self.folder / "query.json"
        (self.folder / "sets").mkdir(parents=True, exist_ok=True)
        (self.folder / "versions").mkdir(exist_ok=True)
        if not path.exists():
            committed = Path(self.checkpoint) / "commits"
            if committed.is_dir() and any(committed.iterdir()):
                raise CheckpointError(
                    f"{self.checkpoint} is the checkpoint of another query, one without Rookery: "
                    "give this stream a new one"
                )
            _create(path, json.dumps({"query": uuid.uuid4().hex, **identity}))
        known = json.loads(path.read_text(encoding="utf-8"))
        for name, value in identity.items():
            if known.get(name) != value:
                raise CheckpointError(
                    f"{self.checkpoint} is the checkpoint of another query: its {name} was {known.get(name)!r} "
                    f"and is now {value!r}. Give this stream a new checkpoint and a new output folder."
                )
        return str(known["query"])

    def head(self) -> SetVersion | None:
        """Return the newest set, or None before the first."""
        numbers = [int(path.name) for path in (self.folder / "sets").glob("*") if path.name.isdigit()]
        return self.read(max(numbers)) if numbers else None

    def read(self, number: int) -> SetVersion:
        """Return what is known of one set."""
        path = self.folder / "sets" / str(number) / "set.json"
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise CheckpointError(
                f"the rules of set_version {number} are gone from {self.folder}, and a replay needs them: restore the "
                "folder, or start with a new checkpoint"
            ) from error
        return SetVersion(
            number, known["fingerprint"], known["content_hash"], known["rules"], tuple(known["quarantined"])
        )

    def publish(self, rules: CompiledRules, records: pa.Table, fingerprint: str) -> SetVersion:
        """Add a set as the newest, and return its number. The same content as the newest is not added twice."""
        import pyarrow.parquet as pq

        from rookery.spark.rules import describe

        with self.lock():
            newest = self.head()
            if newest is not None and newest.fingerprint == fingerprint:
                return newest
            number = 1 if newest is None else newest.number + 1
            made = self.folder / "sets" / f".{uuid.uuid4().hex}"
            made.mkdir()
            rules.compiled.save(made / "compiled")
            pq.write_table(records, made / "records.parquet")
            document = {
                "fingerprint": fingerprint,
                "content_hash": rules.compiled.content_hash,
                "rules": len(rules.compiled),
                "quarantined": [describe(error) for error in rules.quarantined],
            }
            (made / "set.json").write_text(json.dumps(document, default=str), encoding="utf-8")
            os.rename(made, self.folder / "sets" / str(number))
            return self.read(number)

    def bind(self, batch: int, number: int) -> SetVersion:
        """Decide which set judges `batch`: the first caller's, for ever."""
        path = self.folder / "versions" / str(batch)
        with contextlib.suppress(FileExistsError):
            _create(path, str(number))
        return self.read(int(path.read_text(encoding="utf-8")))

    def bound(self, batch: int) -> SetVersion | None:
        """Return the set that judges `batch`, or None when no task of it has begun."""
        try:
            return self.read(int((self.folder / "versions" / str(batch)).read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None

    def history(self) -> dict[int, int]:
        """Return the set_version of every batch that was begun."""
        files = (path for path in (self.folder / "versions").glob("*") if path.name.isdigit())
        return dict(sorted((int(path.name), int(path.read_text(encoding="utf-8"))) for path in files))

    def carrier(self, version: SetVersion) -> FileSet:
        """Return the way a worker loads that set."""
        return FileSet(version.content_hash, str(self.folder / "sets" / str(version.number) / "compiled"))

    def records(self, version: SetVersion) -> pa.Table:
        """Return the records of that set."""
        import pyarrow.parquet as pq

        return pq.read_table(self.folder / "sets" / str(version.number) / "records.parquet")

    def forget(self, *, before: int) -> None:
        """Drop the bindings of committed batches below `before`, and the sets that no batch names any more."""
        for path in (self.folder / "versions").glob("*"):
            if path.name.isdigit() and int(path.name) < before:
                path.unlink(missing_ok=True)
        newest = self.head()
        named = set(self.history().values()) | ({newest.number} if newest else set())
        for path in (self.folder / "sets").glob("*"):
            if path.name.isdigit() and int(path.name) not in named:
                shutil.rmtree(path, ignore_errors=True)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Let one process at a time compile and publish; a killed holder's lock is released by the system."""
        with (self.folder / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _create(path: Path, text: str) -> None:
    """Create a file whole and exclusively: FileExistsError when somebody was first."""
    fresh = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with fresh.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.link(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
