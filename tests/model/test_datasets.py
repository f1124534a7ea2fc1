"""What a path names: files, partition folders, tables by their log; and the tables that are refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery import Schema
from rookery.errors import PipelineError, SchemaError
from rookery.model.datasets import complete_batch, find_dataset


def lay(root: Path, *names: str) -> Path:
    """Write a file of one row, its number, into each of these folders."""
    for number, name in enumerate(names):
        (root / name).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": [number], "x": [0.5]}), root / name / f"{number}.parquet")
    return root


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (".hoodie/hoodie.properties", "Hudi table.*format\\('hudi'\\)"),
        ("_spark_metadata/0", "output of a Spark stream.*spark.read.parquet"),
    ],
)
def test_tables_of_others_are_refused_with_what_to_do(tmp_path: Path, log: str, message: str) -> None:
    folder = lay(tmp_path / "lake" / "table", "data/a=1", "data/a=2")
    assert len(find_dataset(folder).files) == 2
    (folder / log).parent.mkdir()
    (folder / log).write_text("{}")
    inside = (folder, folder / "data", folder / "data" / "a=1", folder / "data" / "a=1" / "0.parquet", tmp_path)
    for path in inside:
        with pytest.raises(PipelineError, match=message) as caught:
            find_dataset(path)
        assert "rookery.spark.match" in str(caught.value)
    with pytest.raises(SchemaError, match=message):
        Schema.infer(folder)


def test_a_folder_that_only_looks_like_a_table_is_none(tmp_path: Path) -> None:
    folder = lay(tmp_path / "x", "metadata")
    (folder / "metadata" / "_notes.json").write_text("{}")
    assert [path.name for path in find_dataset(folder).paths] == ["0.parquet"]


def test_a_delta_table_is_its_log_and_nothing_inside_it_is_taken_alone(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    folder = tmp_path / "lake" / "table"
    table = pa.table({"id": [1, 2, 3], "day": ["1", "2", "2"]})
    deltalake.write_deltalake(folder, table, partition_by=["day"])
    deltalake.write_deltalake(folder, table.slice(0, 2), mode="overwrite")
    found = find_dataset(folder)
    # Of its text type, which the names of the folders would make an integer.
    assert (found.partitions, found.declared) == (pa.schema([("day", pa.string())]), table.schema)
    assert [file.values for file in found.files] == [("1",), ("2",)]
    assert Schema.infer(folder) == Schema.from_arrow(table.schema)
    for path in (folder / "day=1", found.paths[0], folder / "_delta_log"):
        with pytest.raises(PipelineError, match=rf"is inside a table.*name {folder} itself"):
            find_dataset(path)
    with pytest.raises(PipelineError, match=rf"holds a table in {folder}.*name {folder} itself"):
        find_dataset(tmp_path)
    with pytest.raises(PipelineError, match="by itself"):
        find_dataset([folder, lay(tmp_path / "other", ".")])


def test_partition_folders_are_columns(tmp_path: Path) -> None:
    root = lay(tmp_path, "a=1/b=x%20y", "a=2/b=__HIVE_DEFAULT_PARTITION__", "a=2/b=z/_temporary", "a=3/b=z/.hidden")
    found = find_dataset(root)
    assert found.partitions == pa.schema([("a", pa.int32()), ("b", pa.string())])
    assert [(file.path.name, file.values) for file in found.files] == [
        ("0.parquet", (1, "x y")),
        ("1.parquet", (2, None)),
    ]
    assert Schema.infer(root) == Schema.from_dict({"id": "int64", "x": "float64", "a": "int32", "b": "string"})
    below = find_dataset(root / "a=1")
    assert below.partitions.names == ["b"]  # as in Spark: what is below the path that was named
    assert find_dataset(lay(tmp_path / "under", "_day=1")).partitions.names == ["_day"]


def test_a_partition_column_hides_one_in_the_file(tmp_path: Path) -> None:
    found = find_dataset(lay(tmp_path, "X=7"))
    data = pa.schema([("id", pa.int64()), ("x", pa.float64())])
    assert found.schema(data) == pa.schema([("id", pa.int64()), ("X", pa.int32())])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a=1", "."), "partitioned by none and by a"),
        (("a=1", "b=1"), "partitioned by a and by b"),
        (("a=1", "a=2/b=1"), "partitioned by a and by a/b"),
        (("a=1/A=2",), "name a column twice"),
        (("east/a=1", "west/a=2"), "two partitioned tables"),
        (("a=",), "column=value"),
    ],
)
def test_layouts_that_do_not_go_together_are_refused(tmp_path: Path, names: tuple[str, ...], message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        find_dataset(lay(tmp_path, *names))


def test_several_paths_have_the_same_columns(tmp_path: Path) -> None:
    one, other = lay(tmp_path / "one", "a=1"), lay(tmp_path / "other", "a=x")
    found = find_dataset([one, other])
    assert [(file.base, file.values) for file in found.files] == [(one, ("1",)), (other, ("x",))]
    with pytest.raises(PipelineError, match="partitioned by a and by none"):
        find_dataset([one, lay(tmp_path / "plain", ".")])


def test_a_batch_is_completed() -> None:
    batch = pa.record_batch({"x": pa.array([1, 2], pa.int32())})
    wanted = pa.schema([("day", pa.date32()), ("x", pa.int64()), ("new", pa.string()), ("s", pa.string())])
    made = complete_batch(batch, wanted, {"day": None, "s": "a"}, 2)
    assert made.schema == wanted
    assert made.to_pylist() == [{"day": None, "x": x, "new": None, "s": "a"} for x in (1, 2)]
    assert complete_batch(None, pa.schema([("s", pa.string())]), {"s": "a"}, 3).to_pylist() == [{"s": "a"}] * 3
