"""A compiled set that is truncated, foreign, flipped or of another format is refused by name; nothing crashes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rookery
from rookery.errors import CompiledSetError
from rookery.matching import CompiledSet
from rookery.matching.buffers import FORMAT_VERSION, content_hash_of, pack

SCHEMA = rookery.Schema.from_dict({"k": "string", "v": "float64", "n": "int64", "w": "int64"})


def small_set() -> CompiledSet:
    """Return a set with keys, blocks, intervals, lists, labels, topics, dates, texts, programs and what to verify."""
    matcher = rookery.matcher(SCHEMA)
    count = 300
    later = ["n > {}", "w >= -9223372036854775807 AND n > {}", "k LIKE '%{}' AND k NOT LIKE '%z%' AND v < 9"]
    rules = [
        (
            f"k = 'k{place % 5}' AND v > {place % 40}",
            f"v BETWEEN {place % 30} AND {place % 30 + 9} AND n <> 3",
            f"k LIKE 'k%' AND n IN ({place}, {place + 2}, 9)",
            f"n < w AND v < {place}"
            if place % 8 == 3
            else f"n IN ({', '.join(str(place + 3 * one) for one in range(12))})"
            if place % 16 == 7
            else later[place % 3].format(place % 40),
        )[place % 4]
        for place in range(count)
    ]
    table = pa.table(
        {
            "subscription_id": [f"s{place}" for place in range(count)],
            "where": rules,
            "topic": ["t" if place % 3 else None for place in range(count)],
            "valid_from": ["2026-01-01T00:00:00Z" if place % 10 == 0 else None for place in range(count)],
        }
    )
    matcher.add_many(table)
    return matcher.compile()


@pytest.fixture(scope="module")
def compiled() -> CompiledSet:
    return small_set()


@pytest.fixture(scope="module")
def buffer(compiled: CompiledSet) -> bytes:
    return compiled.to_bytes().to_pybytes()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"A",
        b"ARROW1",
        b"ARROW1\x00\x00" + bytes(100),
        b"PAR1" + bytes(64) + b"PAR1",
        b"subscription_id,where\na,x > 1\n",
        bytes(4096),
    ],
    ids=["empty", "one byte", "magic", "zeros after magic", "Parquet", "CSV", "zeros"],
)
def test_foreign_bytes_are_refused(data: bytes) -> None:
    for verify in (True, False):
        with pytest.raises(CompiledSetError, match="not a compiled set"):
            CompiledSet.from_bytes(data, verify=verify)


def test_another_arrow_file_is_refused(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2]})
    with pa.OSFile(str(tmp_path / "other.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(CompiledSetError, match=r"other\.arrow: not a compiled set"):
        CompiledSet.load(tmp_path / "other.arrow")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CompiledSetError, match=r"nothing\.rks: cannot read the compiled set"):
        CompiledSet.load(tmp_path / "nothing.rks")
    with pytest.raises(CompiledSetError, match="cannot read the compiled set"):
        CompiledSet.load(tmp_path)


def test_a_set_cannot_be_written_where_there_is_no_folder(compiled: CompiledSet, tmp_path: Path) -> None:
    with pytest.raises(CompiledSetError, match="cannot write the compiled set"):
        compiled.save(tmp_path / "no" / "folder.rks")
    assert list(tmp_path.iterdir()) == []


def test_every_truncation_is_refused(buffer: bytes, tmp_path: Path) -> None:
    for size in [*range(0, 200, 7), *range(200, len(buffer), len(buffer) // 60)]:
        with pytest.raises(CompiledSetError):
            CompiledSet.from_bytes(buffer[:size])
    path = tmp_path / "short.rks"
    path.write_bytes(buffer[: len(buffer) // 2])
    with pytest.raises(CompiledSetError, match=r"short\.rks"):
        CompiledSet.load(path)


def test_every_flipped_bit_of_the_content_is_noticed(buffer: bytes, compiled: CompiledSet) -> None:
    """The hash covers all that decides a match: a flip is refused, or it hit padding and the content is the same."""
    same = 0
    for place in range(0, len(buffer), max(1, len(buffer) // 400)):
        spoiled = bytearray(buffer)
        spoiled[place] ^= 1 << (place % 8)
        try:
            loaded = CompiledSet.from_bytes(bytes(spoiled))
        except CompiledSetError:
            continue
        assert loaded.content_hash == compiled.content_hash
        assert loaded.subscriptions.equals(compiled.subscriptions)
        same += 1
    assert same < 100


def with_header(compiled: CompiledSet, **changes: Any) -> pa.Buffer:
    """Return the set as bytes with other entries in its header, its hash made anew."""
    header, arrays = compiled._parts()
    header.update(changes)
    header["hash"] = content_hash_of(header, arrays)
    return pack(header, arrays)


def test_another_format_version_is_refused_with_both_numbers(compiled: CompiledSet) -> None:
    for version in (0, 99, "1", None):
        with pytest.raises(CompiledSetError, match=f"has format {version}, this Rookery reads {FORMAT_VERSION}"):
            CompiledSet.from_bytes(with_header(compiled, format=version))


@pytest.mark.parametrize(
    "changes",
    [
        {"slots": 7}, {"blocked_rows": 1}, {"blocked_rows": -1}, {"blocked_rows": 10**30}, {"attributes": []},
        {"attributes": 5}, {"attributes": [["nope"]]}, {"schema": {}}, {"schema": []}, {"schema": {"k": "nope"}},
        {"seed": "x"}, {"seed": None}, {"seed": 1e999},
        {"seed": -1}, {"seed": 2**64}, {"seed": 2**200}, {"ordered": 3}, {"blocked_rows": 1e999},
    ],
    ids=str,
)  # fmt: skip
def test_a_header_that_lies_is_refused_or_harmless(compiled: CompiledSet, changes: dict[str, Any]) -> None:
    try:
        loaded = CompiledSet.from_bytes(with_header(compiled, **changes))
    except CompiledSetError:
        return
    loaded.match({"k": "k1", "v": 3.0, "n": 4}, topic="t", time="2026-01-02T00:00:00Z")


ARRAYS = sorted(small_set()._parts()[1])


@pytest.mark.parametrize("name", ARRAYS)
def test_every_offset_is_checked(compiled: CompiledSet, name: str) -> None:
    """Spoil each array under a good hash: what a kernel follows is refused, any other number only matches otherwise."""
    for value in (-1, 2**31 - 1, 2**62, -(2**62)):
        header, arrays = compiled._parts()
        array = arrays[name].copy()
        if not array.size or not np.iinfo(array.dtype).min <= value <= np.iinfo(array.dtype).max:
            continue
        flat = array.reshape(-1)
        for place in {0, len(flat) // 2, len(flat) - 1}:
            kept = flat[place]
            flat[place] = value
            arrays[name] = array
            header["hash"] = content_hash_of(header, arrays)
            try:
                loaded = CompiledSet.from_bytes(pack(header, arrays))
            except CompiledSetError:
                continue
            finally:
                flat[place] = kept
            loaded.match({"k": "k1", "v": 3.0, "n": 4, "w": 3}, topic="t", time="2026-01-02T00:00:00Z")


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_that_is_missing_or_short_is_refused(compiled: CompiledSet, name: str) -> None:
    header, arrays = compiled._parts()
    whole = arrays.pop(name)
    header["hash"] = content_hash_of(header, arrays)
    with pytest.raises(CompiledSetError):
        CompiledSet.from_bytes(pack(header, arrays))
    if len(whole) > 1:
        arrays[name] = whole[: len(whole) // 2]
        header["hash"] = content_hash_of(header, arrays)
        if name == "inexact":
            return  # a shorter list of subscriptions to verify is a list all the same
        with pytest.raises(CompiledSetError):
            CompiledSet.from_bytes(pack(header, arrays))


def damaged(buffer: bytes, folder: Path, seed: int, count: int) -> dict[str, int]:
    """Run `damage.py` as a process of its own; a crash is a failure here and not the end of the tests."""
    path = folder / "set.rks"
    path.write_bytes(buffer)
    program = Path(__file__).with_name("damage.py")
    done = subprocess.run(
        [sys.executable, str(program), str(path), str(seed), str(count)],
        capture_output=True,
        text=True,
        timeout=3_000,
        check=False,
    )
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-2000:]}"
    return json.loads(done.stdout)


def test_two_thousand_damaged_sets_do_no_harm(buffer: bytes, tmp_path: Path) -> None:
    found = damaged(buffer, tmp_path, 1, 2000)
    assert sum(found.values()) == 2000
    assert found["refused"] > 500
    assert found["matched"] > 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_fifty_thousand_damaged_sets_do_no_harm(buffer: bytes, tmp_path: Path, seed: int) -> None:
    assert sum(damaged(buffer, tmp_path, seed, 5000).values()) == 5000
