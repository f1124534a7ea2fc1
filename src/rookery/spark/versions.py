"""Which set of rules judged which micro-batch: recorded before matching, reused on replay (spec, spark 10, promise 2).

Beside the checkpoint of a stream there is a folder `rookery`:

    query.json            which query this is, and the events' schema
    made/<name>/          a compiled set and the records it came from
    sets/<set_version>    which of those is this set, and what was quarantined
    versions/<batch>      the set_version that judges this batch

A set is made first and named last; its number and a batch's set are taken by the exclusive creation of a file. So a
number is taken once and what it names is whole; the first task of a batch decides, every other task and every replay
reads. A rule edit that arrives while a batch runs, or between a crash and the replay, cannot change what that batch
means. Without this, "exactly once" would be false after an edit. The folder is on a disk that all workers see, or in an
object store (`model/storage`).
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.errors import CheckpointError
from rookery.model.storage import (
    Location,
    ObjectPath,
    absolute,
    create,
    names_in,
    path_of,
    put_file,
    remove_tree,
    source_of,
)
from rookery.spark.carriers import FileSet, StoredSet

if TYPE_CHECKING:
    from rookery.spark.rules import CompiledRules

__all__ = ["SetVersion", "VersionLog"]


@dataclass(frozen=True, slots=True)
class SetVersion:
    """One published set: its number, the fingerprint of its source, its content hash, and what was set aside.

    `columns` of the events are what it reads; a log of before did not say.
    """

    number: int
    fingerprint: str
    content_hash: str
    rules: int
    quarantined: tuple[dict[str, Any], ...]
    made: str
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class VersionLog:
    """The folder beside one checkpoint."""

    checkpoint: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "checkpoint", absolute(self.checkpoint))

    @property
    def folder(self) -> Location:
        """Where everything is kept."""
        return path_of(self.checkpoint) / "rookery"

    def open(self, identity: dict[str, Any]) -> str:
        """Claim the checkpoint for this query, or check that it is the same one; return the query's id."""
        for name in ("made", "sets", "versions"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        if not (self.folder / "query.json").exists():
            if names_in(path_of(self.checkpoint) / "commits"):
                raise CheckpointError(
                    f"{self.checkpoint} is the checkpoint of another query, one without Rookery: "
                    "give this stream a new one"
                )
            create(self.folder / "query.json", json.dumps({"query": uuid.uuid4().hex, **identity}).encode())
        known = self.query()
        assert known is not None
        for name, value in identity.items():
            if known.get(name) != value:
                raise CheckpointError(
                    f"{self.checkpoint} is the checkpoint of another query: its {name} was {known.get(name)!r} "
                    f"and is now {value!r}. Give this stream a new checkpoint and a new output folder."
                )
        return str(known["query"])

    def query(self) -> dict[str, Any] | None:
        """Return which query this is; None where the checkpoint is none of ours."""
        try:
            known: dict[str, Any] = json.loads((self.folder / "query.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return known

    def head(self) -> SetVersion | None:
        """Return the newest set, or None before the first."""
        numbers = self._numbers("sets")
        return self.read(max(numbers)) if numbers else None

    def read(self, number: int) -> SetVersion:
        """Return what is known of one set."""
        try:
            known = json.loads((self.folder / "sets" / str(number)).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise CheckpointError(
                f"the rules of set_version {number} are gone from {self.folder}, and a replay needs them: restore the "
                "folder, or start with a new checkpoint"
            ) from error
        return SetVersion(
            number, known["fingerprint"], known["content_hash"], known["rules"], tuple(known["quarantined"]),
            known["made"], None if known.get("columns") is None else tuple(known["columns"]),
        )  # fmt: skip

    def publish(self, rules: CompiledRules, records: pa.Table, fingerprint: str) -> SetVersion:
        """Add a set as the newest, and return its number. The same content as the newest is not added twice."""
        from rookery.spark.rules import describe

        with self.lock():
            made = ""
            while True:
                newest = self.head()
                if newest is not None and newest.fingerprint == fingerprint:
                    if made:  # another process was as quick, and its set is the same
                        remove_tree(self.folder / "made" / made)
                    return newest
                made = made or self._make(rules, records)
                document = {
                    "fingerprint": fingerprint,
                    "content_hash": rules.compiled.content_hash,
                    "rules": len(rules.compiled),
                    "quarantined": [describe(error) for error in rules.quarantined],
                    "made": made,
                    "columns": list(rules.columns),
                }
                number = 1 if newest is None else newest.number + 1
                if create(self.folder / "sets" / str(number), json.dumps(document, default=str).encode()):
                    return self.read(number)

    def bind(self, batch: int, number: int, now: datetime) -> SetVersion:
        """Decide which set judges `batch`, and what its now() is: the first caller's, for ever."""
        create(self.folder / "versions" / str(batch), f"{number} {now.isoformat()}".encode())
        bound = self.bound(batch)
        assert bound is not None
        return bound

    def bound(self, batch: int) -> SetVersion | None:
        """Return the set that judges `batch`, or None when no task of it has begun."""
        try:
            return self.read(int(self._binding(batch)[0]))
        except FileNotFoundError:
            return None

    def moment(self, batch: int) -> datetime | None:
        """Return what now() is in `batch`, None where an older Rookery began it."""
        _, *moment = self._binding(batch)
        return datetime.fromisoformat(moment[0]) if moment else None

    def _binding(self, batch: int) -> list[str]:
        return (self.folder / "versions" / str(batch)).read_text(encoding="utf-8").split()

    def batches(self) -> list[int]:
        """Return every batch that was begun."""
        return self._numbers("versions")

    def history(self) -> dict[int, int]:
        """Return the set_version of every batch that was begun."""
        found = {}
        for batch in self._numbers("versions"):
            with contextlib.suppress(FileNotFoundError):
                found[batch] = int(self._binding(batch)[0])
        return found

    def carrier(self, version: SetVersion) -> FileSet | StoredSet:
        """Return the way a worker loads that set."""
        path = self.folder / "made" / version.made / "compiled"
        kind = StoredSet if isinstance(path, ObjectPath) else FileSet
        return kind(version.content_hash, str(path))

    def records(self, version: SetVersion) -> pa.Table:
        """Return the records of that set."""
        import pyarrow.parquet as pq

        return pq.read_table(source_of(self.folder / "made" / version.made / "records.parquet"), partitioning=None)

    def forget(self, *, before: int) -> None:
        """Drop the bindings of committed batches below `before`, and the sets that no batch names any more."""
        for batch in self._numbers("versions"):
            if batch < before:
                (self.folder / "versions" / str(batch)).unlink(missing_ok=True)
        newest = self.head()
        named = set(self.history().values()) | ({newest.number} if newest else set())
        for number in self._numbers("sets"):
            if number not in named:
                with contextlib.suppress(CheckpointError):
                    remove_tree(self.folder / "made" / self.read(number).made)
                (self.folder / "sets" / str(number)).unlink(missing_ok=True)

    def _numbers(self, name: str) -> list[int]:
        return sorted(int(one) for one in names_in(self.folder / name) if one.isdigit())

    def _make(self, rules: CompiledRules, records: pa.Table) -> str:
        """Write a set under a name of its own, which nobody knows yet."""
        import pyarrow.parquet as pq

        name = uuid.uuid4().hex
        target = self.folder / "made" / name
        with tempfile.TemporaryDirectory(prefix="rookery-set-") as made:
            folder = Path(made) if isinstance(target, ObjectPath) else target
            folder.mkdir(exist_ok=True)
            rules.compiled.save(folder / "compiled")
            pq.write_table(records, folder / "records.parquet")
            if isinstance(target, ObjectPath):
                for file in folder.iterdir():
                    put_file(file, target / file.name)
        return name

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Let one process of a machine compile at a time, to spare the work; the system frees a killed holder's lock.

        In a store there is none: two may compile, and one of them takes the number.
        """
        folder = self.folder
        if isinstance(folder, ObjectPath):
            yield
            return
        import fcntl

        with (folder / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
