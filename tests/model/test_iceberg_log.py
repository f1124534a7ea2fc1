"""An Iceberg table by its metadata: snapshots, times, and everything that its files alone would get wrong."""

from __future__ import annotations

import logging
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery import Schema
from rookery.errors import PipelineError, SchemaError
from rookery.model.datasets import dataset_sign, find_dataset

catalogs = pytest.importorskip("pyiceberg.catalog.sql", reason="needs `pip install rookery[iceberg]`")
logging.getLogger("pyiceberg").setLevel(logging.ERROR)

EVENTS = pa.table({"id": pa.array([1, 2, 3, 4], pa.int64()), "day": ["a", "a", "b", "b"], "x": [0.5, 1.0, 2.0, 3.0]})


def iceberg(root: Path, table: pa.Table = EVENTS, *, partition: str | None = "day") -> Any:
    """Make a table in a catalog of its own; its folder is the table's `location()`."""
    root.mkdir(parents=True, exist_ok=True)
    catalog = catalogs.SqlCatalog("lake", uri=f"sqlite:///{root}/catalog.db", warehouse=f"file://{root}")
    catalog.create_namespace("lake")
    made = catalog.create_table("lake.events", schema=table.schema)
    if partition is not None:
        with made.update_spec() as spec:
            spec.add_identity(partition)
    made.append(table)
    return made


def folder_of(table: Any) -> Path:
    return Path(table.location().removeprefix("file://"))


def rows(paths: list[Any]) -> list[int]:
    return sorted(number for path in paths for number in pq.ParquetFile(path).read()["id"].to_pylist())


def test_the_current_snapshot_counts_and_older_ones_on_request(tmp_path: Path) -> None:
    table = iceberg(tmp_path)
    first = table.current_snapshot()
    table.delete("day = 'b'")
    folder = folder_of(table)
    on_disk = list(folder.rglob("*.parquet"))
    assert len(on_disk) == 2, "the deleted file is still there"
    found = find_dataset(folder)
    assert found.declared == EVENTS.schema
    assert rows(found.paths) == [1, 2]
    assert Schema.infer(folder) == Schema.from_arrow(EVENTS.schema)
    assert rows(find_dataset(folder, version=first.snapshot_id).paths) == [1, 2, 3, 4]
    then = datetime.fromtimestamp(first.timestamp_ms / 1000, UTC)
    assert rows(find_dataset(folder, at=then).paths) == [1, 2, 3, 4]
    with pytest.raises(PipelineError, match="no snapshot 7; it has"):
        find_dataset(folder, version=7)
    with pytest.raises(PipelineError, match="no snapshot as old as"):
        find_dataset(folder, at=datetime(2001, 1, 1, tzinfo=UTC))
    with pytest.raises(PipelineError, match="a version or at a time"):
        find_dataset(folder, version=7, at=then)


def test_every_change_is_another_sign_and_no_file_is_read_for_it(tmp_path: Path) -> None:
    table = iceberg(tmp_path, partition=None)
    folder = folder_of(table)
    sign = dataset_sign(folder)
    assert dataset_sign(folder) == sign
    for path in folder.rglob("*.parquet"):
        path.unlink()
    assert dataset_sign(folder) == sign
    table.append(EVENTS)
    assert dataset_sign(folder) != sign


def test_nothing_inside_a_table_is_taken_alone(tmp_path: Path) -> None:
    folder = folder_of(iceberg(tmp_path / "lake"))
    for inside in (folder / "data", folder / "data" / "day=a", next(folder.rglob("*.parquet")), folder / "metadata"):
        with pytest.raises(PipelineError, match=rf"is inside a table.*name {folder} itself"):
            find_dataset(inside)
    with pytest.raises(PipelineError, match=rf"holds a table in {folder}"):
        find_dataset(tmp_path)
    with pytest.raises(PipelineError, match="by itself"):
        find_dataset([folder, folder])


def test_a_column_that_was_added_is_null_in_older_files(tmp_path: Path) -> None:
    from pyiceberg.types import StringType

    table = iceberg(tmp_path, partition=None)
    with table.update_schema() as change:
        change.add_column("unit", StringType())
    found = find_dataset(folder_of(table))
    assert found.declared is not None
    assert found.declared.names == ["id", "day", "x", "unit"]
    assert len(found.files) == 1


def renamed(table: Any) -> None:
    with table.update_schema() as change:
        change.rename_column("x", "y")


def added_again(table: Any) -> None:
    from pyiceberg.types import DoubleType

    with table.update_schema() as change:
        change.delete_column("x")
    with table.update_schema() as change:
        change.add_column("x", DoubleType())


def from_elsewhere(table: Any) -> None:
    path = folder_of(table).with_name("elsewhere.parquet")
    pq.write_table(EVENTS.select(["id", "day", "x"]), path)
    table.add_files([f"file://{path}"])


def twice_numbered(table: Any) -> None:
    newest = max((folder_of(table) / "metadata").glob("*.metadata.json"))
    shutil.copy(newest, newest.with_name(f"{newest.name[:6]}0f.metadata.json"))


def damaged(table: Any) -> None:
    max((folder_of(table) / "metadata").glob("*.metadata.json")).write_text("{}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (renamed, "column x .*renamed"),
        (added_again, "column x .*added again"),
        (from_elsewhere, "name mapping"),
        (twice_numbered, "only its catalog knows"),
        (damaged, "cannot be read"),
    ],
)
def test_what_its_files_alone_would_get_wrong_is_refused(tmp_path: Path, change: Any, message: str) -> None:
    table = iceberg(tmp_path, partition=None)
    change(table)
    with pytest.raises(SchemaError, match=rf"{message}.*format\('iceberg'\)") as caught:
        find_dataset(folder_of(table), error=SchemaError)
    assert "rookery.spark.match" in str(caught.value)


def test_a_table_that_was_copied_is_not_read_at_its_old_place(tmp_path: Path) -> None:
    folder = folder_of(iceberg(tmp_path / "lake"))
    shutil.copytree(folder, tmp_path / "copy")
    with pytest.raises(PipelineError, match=f"says that it is in {folder}"):
        find_dataset(tmp_path / "copy")


def test_rows_that_are_deleted_beside_their_file_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyiceberg writes no delete files itself; one is put into its plan as Spark's would be."""
    from pyiceberg.table import FileScanTask

    folder = folder_of(iceberg(tmp_path))
    made = FileScanTask.__init__

    def with_delete(self: Any, *given: Any, **named: Any) -> None:
        made(self, *given, **named)
        self.delete_files = {self.file}

    monkeypatch.setattr(FileScanTask, "__init__", with_delete)
    with pytest.raises(PipelineError, match=r"delete files.*rewrite_data_files"):
        find_dataset(folder)


def test_a_hadoop_table_says_its_version_itself(tmp_path: Path) -> None:
    table = iceberg(tmp_path)
    table.delete("day = 'b'")
    folder = folder_of(table)
    for place, path in enumerate(sorted((folder / "metadata").glob("*.metadata.json"))):
        path.rename(path.with_name(f"v{place}.metadata.json"))
    assert rows(find_dataset(folder).paths) == [1, 2]
    (folder / "metadata" / "version-hint.text").write_text("2\n")
    assert rows(find_dataset(folder).paths) == [1, 2, 3, 4]
