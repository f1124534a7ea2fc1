"""Which set of rules judged which micro-batch: recorded before matching, reused on replay (spec, spark 10, promise 2).

Beside the checkpoint of a stream there is a folder `rookery`:

    query.json            which query this is, and the events' schema
    made/<name>/          a compiled set and the records it came from, or an edit of one
    sets/<set_version>    which of those is this set, with which edits, and what was quarantined
    merged/<set_version>  a compiled set of the same content, made later
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
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import blake2b
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
from rookery.spark.edits import SetEdit, Taken, edited
from rookery.spark.states import STATES, EditedSet, apply_edit, resumed

if TYPE_CHECKING:
    from rookery import CompiledSet
    from rookery.matching import Matcher
    from rookery.spark.rules import CompiledRules

__all__ = ["SetVersion", "VersionLog"]

#: Edits behind a compiled set from which on it is compiled anew: a process that begins reads each of them.
MANY_EDITS = 128


@dataclass(frozen=True, slots=True)
class SetVersion:
    """One published set: its number, the fingerprint of its source, its content hash, and what was set aside.

    `columns` of the events are what it reads; a log of before did not say. It is the set `made`, the content of number
    `whole`, with the `edits` behind it, each a number and a name. `around` signs what else decided its meaning, and
    `taken` says how far its source was read.
    """

    number: int
    fingerprint: str
    content_hash: str
    rules: int
    quarantined: tuple[dict[str, Any], ...]
    made: str
    columns: tuple[str, ...] | None = None
    whole: int = 0
    edits: tuple[tuple[int, str], ...] = ()
    around: str = ""
    taken: Taken | None = None


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
        for name in ("made", "sets", "merged", "versions"):
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
        for name, value in {"plan": None, **identity}.items():
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
            known.get("whole", number), tuple((one, name) for one, name in known.get("edits", ())),
            known.get("around", ""), Taken(**known["taken"]) if known.get("taken") else None,
        )  # fmt: skip

    def publish(
        self, rules: CompiledRules, records: pa.Table, fingerprint: str, *, around: str = "",
        taken: Taken | None = None,
    ) -> SetVersion:  # fmt: skip
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
                    "around": around,
                    "taken": None if taken is None else asdict(taken),
                }
                number = 1 if newest is None else newest.number + 1
                if create(self.folder / "sets" / str(number), json.dumps(document, default=str).encode()):
                    return self.read(number)

    def publish_edit(
        self, head: SetVersion, rules: CompiledRules, edit: SetEdit, fingerprint: str, *, taken: Taken | None = None
    ) -> SetVersion | None:
        """Add a set that is the newest with an edit, of which `rules` are those that compile; None if it is not newest.

        The edit is made in the state that this process holds, which says how many rules there are then.
        """
        from rookery.spark.rules import describe

        with self.lock():
            newest = self.head()
            if newest is None or newest.number != head.number:
                return None
            wanted = self.nearest(self.edited(head))
            number, name = head.number + 1, self._make_edit(rules, edit)
            gone = set(edit.touched.to_pylist())
            left = [bad for bad in head.quarantined if bad["subscription_id"] not in gone]

            def publish(state: Matcher) -> bool:
                compiled = rules.compiled.subscriptions
                apply_edit(state, edit.touched, compiled)
                document = {
                    "fingerprint": fingerprint,
                    "content_hash": blake2b(f"{head.content_hash}{name}".encode(), digest_size=16).hexdigest(),
                    "rules": len(state),
                    "quarantined": [*left, *(describe(error) for error in rules.quarantined)],
                    "made": wanted.made,
                    "columns": list(dict.fromkeys([*(head.columns or ()), *rules.columns])),
                    "whole": wanted.whole,
                    "edits": [*wanted.edits, (number, name)],
                    "around": head.around,
                    "taken": None if taken is None else asdict(taken),
                }
                return create(self.folder / "sets" / str(number), json.dumps(document, default=str).encode())

            STATES.edited(wanted, publish, lambda: self.edited(self.read(number)).key)
            found = self.read(number)
            if not found.edits or found.edits[-1][1] != name:
                remove_tree(self.folder / "made" / name)
                return None
            return found

    def is_long(self, version: SetVersion) -> bool:
        """Say whether so many edits are behind a set that it is better compiled whole for those who load it."""
        return len(version.edits) > MANY_EDITS and len(self.nearest(self.edited(version)).edits) > MANY_EDITS

    def merge(self, version: SetVersion) -> None:
        """Compile a set with its edits whole, for those who load it later; who holds it goes on with what it has."""
        wanted = self.nearest(self.edited(version))
        if not wanted.edits:
            return
        state = resumed(self.whole(wanted.made))
        for _, name in wanted.edits:
            apply_edit(state, *self.edit(name))
        made = self._make_set(state.compile(), self.records(version))
        if not create(self.folder / "merged" / str(version.number), made.encode()):
            remove_tree(self.folder / "made" / made)

    def bind(self, batch: int, number: int, now: datetime) -> SetVersion:
        """Decide which set judges `batch`, and what its now() is: the first caller's, for ever."""
        self.note(batch, number, now)
        bound = self.bound(batch)
        assert bound is not None
        return bound

    def note(self, batch: int, number: int, now: datetime) -> tuple[int, datetime]:
        """Note a number and a now() for `batch`; return those of the first caller."""
        create(self.folder / "versions" / str(batch), f"{number} {now.isoformat()}".encode())
        first, *moment = self._binding(batch)
        return int(first), datetime.fromisoformat(moment[0]) if moment else now

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

    def carrier(self, version: SetVersion) -> FileSet | StoredSet | EditedSet:
        """Return the way a worker loads that set."""
        return self.edited(version) if version.edits else self.whole(version.made)

    def whole(self, made: str) -> FileSet | StoredSet:
        """Return the way a worker loads a set that was compiled whole."""
        path = self.folder / "made" / made / "compiled"
        kind = StoredSet if isinstance(path, ObjectPath) else FileSet
        return kind(made, str(path))

    def edited(self, version: SetVersion) -> EditedSet:
        """Return a set by what it was made of."""
        return EditedSet(self, version.whole, version.made, version.edits)

    def nearest(self, wanted: EditedSet) -> EditedSet:
        """Return the same set by the last one of before it that was compiled whole: what was merged later counts."""
        merged = set(self._numbers("merged"))
        for place in range(len(wanted.edits), 0, -1):
            number = wanted.edits[place - 1][0]
            if number in merged:
                return EditedSet(self, number, self._merged(number), wanted.edits[place:])
        return wanted

    def edit(self, name: str) -> tuple[pa.Array, pa.Table]:
        """Return an edit: the ids that it touches, and the compiled records that take their place."""
        return self._table(name, "touched")["subscription_id"].combine_chunks(), self._table(name, "compiled")

    def id_type(self, version: SetVersion) -> pa.DataType:
        """Return the type of the ids of a set."""
        import pyarrow.parquet as pq

        path = self.folder / "made" / version.made / "records.parquet"
        return pq.read_schema(source_of(path)).field("subscription_id").type

    def records(self, version: SetVersion) -> pa.Table:
        """Return the records of that set."""
        wanted = self.nearest(self.edited(version))
        records = self._table(wanted.made, "records")
        for _, name in wanted.edits:
            touched = self._table(name, "touched")["subscription_id"].combine_chunks()
            records = edited(records, SetEdit(touched, self._table(name, "records")))
        return records

    def _table(self, made: str, name: str) -> pa.Table:
        import pyarrow.parquet as pq

        return pq.read_table(source_of(self.folder / "made" / made / f"{name}.parquet"), partitioning=None)

    def forget(self, *, before: int) -> None:
        """Drop the bindings of committed batches below `before`, and the sets that no batch names any more."""
        for batch in self._numbers("versions"):
            if batch < before:
                (self.folder / "versions" / str(batch)).unlink(missing_ok=True)
        newest = self.head()
        named = set(self.history().values()) | ({newest.number} if newest else set())
        left: list[SetVersion] = []
        gone: list[SetVersion] = []
        for number in self._numbers("sets"):
            with contextlib.suppress(CheckpointError):
                (left if number in named else gone).append(self.read(number))
        # A merged set stays while one that stays begins at it or may: those to come begin at the last.
        numbers = {number for one in left for number, _ in one.edits}
        merged = self._numbers("merged")
        past = [number for number in merged[:-1] if number not in numbers]
        useful = {one.made for one in left} | {name for one in left for _, name in one.edits}
        useful |= {self._merged(number) for number in merged if number not in past}
        for one in gone:
            (self.folder / "sets" / str(one.number)).unlink(missing_ok=True)
        found = {one.made for one in gone} | {name for one in gone for _, name in one.edits}
        found |= {self._merged(number) for number in past}
        for number in past:
            (self.folder / "merged" / str(number)).unlink(missing_ok=True)
        for name in found - useful:
            remove_tree(self.folder / "made" / name)

    def _merged(self, number: int) -> str:
        return (self.folder / "merged" / str(number)).read_text(encoding="utf-8")

    def _numbers(self, name: str) -> list[int]:
        return sorted(int(one) for one in names_in(self.folder / name) if one.isdigit())

    def _make(self, rules: CompiledRules, records: pa.Table) -> str:
        """Write a set under a name of its own, which nobody knows yet."""
        return self._make_set(rules.compiled, records)

    def keep(self, compiled: CompiledSet) -> str:
        """Write a set alone under a new name, for who names it elsewhere."""
        with self._making() as (name, folder):
            compiled.save(folder / "compiled")
        return name

    def _make_set(self, compiled: CompiledSet, records: pa.Table) -> str:
        with self._making() as (name, folder):
            compiled.save(folder / "compiled")
            _write(records, folder / "records.parquet")
        return name

    def _make_edit(self, rules: CompiledRules, edit: SetEdit) -> str:
        """Write an edit in the same way."""
        with self._making() as (name, folder):
            _write(pa.table({"subscription_id": edit.touched}), folder / "touched.parquet")
            _write(rules.compiled.subscriptions, folder / "compiled.parquet")
            _write(edit.records, folder / "records.parquet")
        return name

    @contextlib.contextmanager
    def _making(self) -> Iterator[tuple[str, Path]]:
        """Give a new name and the folder to write in, which is put in place at the end."""
        name = uuid.uuid4().hex
        target = self.folder / "made" / name
        if not isinstance(target, ObjectPath):
            target.mkdir()
            yield name, target
            return
        with tempfile.TemporaryDirectory(prefix="rookery-set-") as made:
            yield name, Path(made)
            for file in Path(made).iterdir():
                put_file(file, target / file.name)

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


def _write(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path)
