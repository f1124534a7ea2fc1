"""The files of subscriptions in `tests/cases/subscription_files`: made here, read by every test that reads files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

DOCUMENT = json.loads((Path(__file__).parents[1] / "cases" / "subscription_files" / "files.json").read_text("utf-8"))
SCHEMA, EVENT, TOPIC, TIME = (DOCUMENT[name] for name in ("schema", "event", "topic", "time"))

_TYPES: dict[str, pa.DataType] = {
    "list_large": pa.large_list(pa.large_string()),
    "timestamp_ns": pa.timestamp("ns"),
    "date": pa.date32(),
    "float64": pa.float64(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One file or folder, and what it gives."""

    name: str
    files: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    path: str = ""
    #: What is asked for with `--id-type`; with `typed`, what the ids are without it.
    id_type: str | None = None
    typed: bool = False
    good: tuple[Any, ...] = ()
    matches: tuple[Any, ...] = ()
    faults: tuple[tuple[Any, str], ...] = ()
    not_at_brokers: tuple[Any, ...] = ()
    error: str | None = None

    @property
    def options(self) -> list[str]:
        return [] if self.id_type is None or self.typed else ["--id-type", self.id_type]

    @property
    def asked(self) -> str | None:
        return None if self.typed else self.id_type

    def write(self, folder: Path) -> Path:
        """Make the files; return the path to read."""
        for name, content in self.files.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else bytes.fromhex(content["hex"]))
        for name, columns in self.tables.items():
            table = pa.table({column: _column(**one) for column, one in columns.items()})
            if name.endswith(".arrow"):
                with pa.OSFile(str(folder / name), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                    writer.write_table(table)
            else:
                pyarrow.parquet.write_table(table, folder / name)
        return folder / (self.path or next(iter([*self.files, *self.tables])))

    def check_faults(self, found: list[tuple[Any, str]]) -> None:
        """Compare (id, message) pairs with the expected ones, in any order."""
        assert len(found) == len(self.faults), found
        left = list(found)
        for subscription_id, part in self.faults:
            same = [one for one in left if one[0] == subscription_id and part in one[1]]
            assert same, f"no fault {subscription_id!r}: {part!r} in {left}"
            left.remove(same[0])


def _column(type: str, values: list[Any]) -> pa.Array:
    kind = _TYPES.get(type) or getattr(pa, type)()
    return pa.array(values, kind)


def _case(document: dict[str, Any]) -> Case:
    lists = ("good", "matches", "not_at_brokers")
    made = {name: tuple(value) if name in lists else value for name, value in document.items()}
    made["faults"] = tuple((one, part) for one, part in document.get("faults", ()))
    return Case(**made)


CASES = [_case(one) for one in DOCUMENT["cases"]]
READABLE = [one for one in CASES if one.error is None]
UNREADABLE = [one for one in CASES if one.error is not None]


def name_of(case: Case) -> str:
    return case.name.replace(" ", "-")
