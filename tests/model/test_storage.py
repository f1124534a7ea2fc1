"""Paths on a disk and in an object store: one answer to each question, and creation that only one can win."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.errors import PipelineError
from rookery.model.datasets import dataset_sign, find_dataset
from rookery.model.storage import (
    Location,
    ObjectPath,
    absolute,
    create,
    names_in,
    parts_below,
    path_of,
    plain_name,
    put_file,
    remove_tree,
    sign_of,
    source_of,
    walk,
)
from rookery.model.tables import read_subscriptions

pytest.importorskip("obstore", reason="object stores need `pip install rookery[storage]`")


@pytest.fixture(params=["disk", "store"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    if request.param == "disk":
        return tmp_path
    return path_of(request.getfixturevalue("bucket")) / tmp_path.name


def write(path: Location, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert create(path, data)


def test_a_text_names_a_path_of_one_kind() -> None:
    assert path_of("a/b") == Path("a/b")
    assert path_of("file:///tmp/a%20b") == Path("/tmp/a b")
    assert path_of("s3a://nest/x/y.csv") == ObjectPath("s3a://nest", "x/y.csv")
    assert path_of("C:") == Path("C:")
    assert path_of("10:30/x") == Path("10:30/x")
    assert absolute("out") == str(Path("out").absolute())
    assert absolute("s3://nest/out/") == "s3://nest/out"
    # One file has one name in data, by whichever scheme it was found.
    assert plain_name(path_of("s3a://nest/x#y")) == plain_name(path_of("s3://nest/x#y")) == "s3://nest/x#y"
    for other in ("hdfs://host/x", "wasb://x/y", "http://host/x", "s3:/x"):
        with pytest.raises(PipelineError, match="hand the DataFrame to"):
            path_of(other)
    with pytest.raises(PipelineError, match="names no bucket"):
        path_of("s3:///x")


def test_of_many_who_create_one_name_one_does(folder: Location) -> None:
    write(folder / "versions" / "there", b"")
    with ThreadPoolExecutor(12) as pool:
        won = list(pool.map(lambda number: create(folder / "versions" / str(number // 12), b"%d" % number), range(120)))
    assert sum(won) == 10
    for name in range(10):
        told = int((folder / "versions" / str(name)).read_text(encoding="utf-8"))
        assert won[told], "the file says what its creator wrote"
    assert names_in(folder / "versions") == sorted([*map(str, range(10)), "there"])


def test_a_file_is_found_read_signed_and_removed(folder: Location) -> None:
    path = folder / "a b=ü" / "x.csv"
    assert not path.exists()
    assert not folder.joinpath("a b=ü").is_dir()
    write(path, b"subscription_id,where\nhot,x > 1\n")
    assert path.is_file()
    assert (path.parent.is_dir(), path.parent.is_file(), path.is_dir()) == (True, False, False)
    assert (path.name, path.suffix, parts_below(path, folder)) == ("x.csv", ".csv", ("a b=ü", "x.csv"))
    assert read_subscriptions(str(path))["where"].to_pylist() == ["x > 1"]
    sign = sign_of(path)
    assert sign_of(path) == sign
    path.unlink()
    write(path, b"subscription_id,where\nhot,x > 2\n")
    assert sign_of(path) != sign
    remove_tree(folder)
    assert not path.exists()
    assert not folder.is_dir()
    remove_tree(folder)


def test_parquet_is_read_in_ranges_and_folders_are_walked(folder: Location, tmp_path: Path) -> None:
    table = pa.table({"id": list(range(100_000)), "x": [number * 0.5 for number in range(100_000)]})
    pq.write_table(table, tmp_path / "made.parquet", row_group_size=10_000)
    data = (tmp_path / "made.parquet").read_bytes()
    for day in ("day=1", "day=2"):
        write(folder / "events" / day / "0.parquet", data)
    write(folder / "events" / "_hidden" / "0.parquet", b"")
    with pq.ParquetFile(source_of(folder / "events" / "day=1" / "0.parquet")) as file:
        assert file.read_row_group(7).equals(table.slice(70_000, 10_000))
    found = find_dataset(folder / "events")
    assert [file.values for file in found.files] == [(1,), (2,)]
    assert found.paths == [folder / "events" / day / "0.parquet" for day in ("day=1", "day=2")]
    assert {one.name: sorted(folders) for one, folders, _ in walk(folder / "events")} == {
        "events": ["_hidden", "day=1", "day=2"], "_hidden": [], "day=1": [], "day=2": [],
    }  # fmt: skip
    sign = dataset_sign(folder / "events")
    write(folder / "events" / "day=2" / "1.parquet", data)
    assert dataset_sign(folder / "events") != sign
    write(folder / "events" / ".hoodie" / "hoodie.properties", b"")
    for inside in (folder / "events", folder / "events" / "day=1"):
        with pytest.raises(PipelineError, match="Hudi table"):
            find_dataset(inside)


def test_a_local_file_is_brought_into_a_store_and_copied_there(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(range(256)) * 60_000)  # in parts
    target = path_of(f"{bucket}/{tmp_path.name}/large")
    assert isinstance(target, ObjectPath)
    put_file(tmp_path / "large", target)
    target.copy_to(target.with_name("copy"))
    assert target.with_name("copy").read_bytes() == (tmp_path / "large").read_bytes()


def test_a_store_that_refuses_says_what_to_do(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(OSError, match="keys in the environment"):
        (path_of("s3n://nest") / "ready").read_bytes()  # a scheme that no other test uses: stores are kept
    with pytest.raises(PipelineError, match="no such file or folder"):
        find_dataset(f"{bucket}/nowhere")
