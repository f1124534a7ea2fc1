"""Ids are found by their hashes, each where it stands, and none that is not there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins import ids as twin

from rookery.matching import id_kernels
from rookery.matching.ids import IdTable

TEXTS = st.lists(st.text(alphabet="ab\x00é", max_size=3), max_size=30)
INTEGERS = st.lists(st.integers(-3, 3) | st.sampled_from([-(2**63), 2**63 - 1, 1 << 40]), max_size=30)


@settings(max_examples=150)
@given(TEXTS | INTEGERS, st.data())
def test_each_id_is_found_at_all_its_rows(ids: list[Any], data: st.DataObject) -> None:
    kept = np.array([data.draw(st.booleans()) for _ in ids], np.uint8)
    kind = pa.int64() if ids and isinstance(ids[0], int) else pa.string()
    skipped = data.draw(st.integers(0, len(ids)))
    column = pa.concat_arrays([pa.array(ids[:skipped], kind), pa.array(ids, kind)]).slice(skipped)
    table = IdTable(column, kept)
    assert table.count == len(ids)
    for one in {*ids, *data.draw(TEXTS), *data.draw(INTEGERS)}:
        assert table.find(one) == [row for row, other in enumerate(ids) if kept[row] and other == one]


@pytest.mark.parametrize("strange", [2**63, -(2**63) - 1, "\ud800", ""])
def test_what_no_column_can_hold_is_not_found(strange: Any) -> None:
    for ids in (["a"], [1], []):
        assert (
            IdTable(pa.array(ids, pa.int64() if ids == [1] else pa.string()), np.ones(1, np.uint8)).find(strange) == []
        )


@settings(max_examples=100)
@given(st.lists(st.binary(max_size=4), max_size=20), st.integers(0, 2**62), st.binary(max_size=4))
def test_the_kernels_equal_their_twins(ids: list[bytes], seed: int, other: bytes) -> None:
    data = np.frombuffer(b"".join(ids) or b"\0", np.uint8)
    starts = np.cumsum([0, *map(len, ids)]).astype(np.int32)
    kept = np.ones(len(ids), np.uint8)
    assert id_kernels.hash_bytes(data, 0, len(data), seed) == twin.hash_bytes(data, 0, len(data), seed)
    table, plain = np.full(64, -1, np.int32), np.full(64, -1, np.int32)
    id_kernels.file_ids(data, starts, 0, kept, seed, table)
    twin.file_ids(data, starts, 0, kept, seed, plain)
    assert (table == plain).all()
    for sought in (*ids, other):
        one, same = np.full(3, -1, np.int64), np.full(3, -1, np.int64)
        asked = np.frombuffer(sought, np.uint8)
        count = id_kernels.find_id(data, starts, 0, seed, table, asked, one)
        assert count == twin.find_id(data, starts, 0, seed, plain, asked, same)
        assert (one == same).all()
