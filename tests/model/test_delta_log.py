"""A Delta table by its log: the files that count, and a refusal of what the files alone cannot tell."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.errors import MissingExtraError, SchemaError
from rookery.model.delta_log import read_delta_log

deltalake = pytest.importorskip("deltalake")


def test_deleted_and_overwritten_files_do_not_count(tmp_path: Path) -> None:
    days = pa.array([date(2024, 1, 1), date(2024, 1, 2), None, None], pa.date32())
    table = pa.table({"id": [1, 2, 3, 4], "s": ["a b", "é/x", "a b", None], "d": days})
    deltalake.write_deltalake(tmp_path, table, partition_by=["s", "d"])
    deltalake.write_deltalake(tmp_path, table.set_column(0, "id", pa.array([5, 6, 7, 8])), mode="append")
    deltalake.DeltaTable(tmp_path).delete("id = 1 or id = 8")
    files, schema, partitions = read_delta_log(tmp_path, error=SchemaError)
    assert schema.names == ["id", "s", "d"]
    assert partitions == ["s", "d"]
    found = [
        (row["id"], *file.values) for file in files for row in pq.read_table(file.path, partitioning=None).to_pylist()
    ]
    first, second = date(2024, 1, 1), date(2024, 1, 2)
    assert sorted(found) == [
        (2, "é/x", second), (3, "a b", None), (4, None, None), (5, "a b", first), (6, "é/x", second), (7, "a b", None),
    ]  # fmt: skip
    assert len(list(tmp_path.rglob("*.parquet"))) == 8
    deltalake.write_deltalake(tmp_path, table.slice(0, 1), mode="overwrite")
    assert [file.values for file in read_delta_log(tmp_path, error=SchemaError)[0]] == [("a b", first)]


def edited(folder: Path, edit: Callable[[str, dict[str, Any]], None]) -> Path:
    """Make a table of three rows and edit each action of its log."""
    deltalake.write_deltalake(folder, pa.table({"id": [1, 2, 3]}))
    log = folder / "_delta_log" / "00000000000000000000.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        for kind, action in line.items():
            edit(kind, action)
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def with_vectors(kind: str, action: dict[str, Any]) -> None:
    if kind == "protocol":
        features = ["deletionVectors"]
        action |= {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}


def deleting(kind: str, action: dict[str, Any]) -> None:
    with_vectors(kind, action)
    if kind == "add":  # rows 3, 4, 7, 11, 18 and 29, the example of Delta's specification
        vector = "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
        action["deletionVector"] = {"storageType": "i", "pathOrInlineDv": vector, "sizeInBytes": 40, "cardinality": 6}
        action["stats"] = json.dumps({"numRecords": 40})


def mapping(kind: str, action: dict[str, Any]) -> None:
    if kind == "protocol":
        action |= {"minReaderVersion": 2, "minWriterVersion": 5}
    if kind == "metaData":
        action["configuration"] = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
        schema = json.loads(action["schemaString"])
        schema["fields"][0]["metadata"] = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c1"}
        action["schemaString"] = json.dumps(schema)


def elsewhere(kind: str, action: dict[str, Any]) -> None:
    if kind == "add":
        action["path"] = "file:///lake/other/part-0.parquet"


def unknown(kind: str, action: dict[str, Any]) -> None:
    if kind == "protocol":
        features = ["dazzling"]
        action |= {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (deleting, "has deletion vectors"),
        (mapping, "maps its columns"),
        (elsewhere, "files elsewhere"),
        (unknown, "dazzling"),
    ],
)
def test_what_the_files_cannot_tell_is_refused(tmp_path: Path, edit: Any, message: str) -> None:
    folder = edited(tmp_path / "table", edit)
    with pytest.raises(SchemaError, match=message) as caught:
        read_delta_log(folder, error=SchemaError)
    assert "spark.read.format('delta').load(" in str(caught.value)


def test_a_table_that_may_have_deletion_vectors_and_has_none_is_read(tmp_path: Path) -> None:
    files, _, _ = read_delta_log(edited(tmp_path / "table", with_vectors), error=SchemaError)
    assert len(files) == 1


def test_a_log_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(SchemaError, match="cannot be read"):
        read_delta_log(tmp_path, error=SchemaError)


def test_without_the_package_the_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deltalake.write_deltalake(tmp_path, pa.table({"id": [1]}))
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(MissingExtraError, match=r"the extra 'delta' brings: pip install '?deltalake"):
        read_delta_log(tmp_path, error=SchemaError)
