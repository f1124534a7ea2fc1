"""What a kernel would follow out of its arrays is refused at load, under a right hash, verified or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rookery
from rookery.errors import CompiledSetError
from rookery.matching import CompiledSet
from rookery.matching.buffers import content_hash_of, pack
from rookery.matching.compiled import _read_table, _table_bytes

from .test_damage import small_set

Array = np.ndarray[Any, Any]
Change = Callable[[dict[str, Any], dict[str, Array]], None]


@pytest.fixture(scope="module")
def compiled() -> CompiledSet:
    return small_set()


def crafted(compiled: CompiledSet, change: Change, *, verify: bool | str = True) -> CompiledSet:
    """Load the set with something changed and its hash made anew."""
    header, arrays = compiled._parts()
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header, arrays)
    header["hash"] = content_hash_of(header, arrays)
    return CompiledSet.from_bytes(pack(header, arrays), verify=verify)


def put(name: str, place: int, value: int) -> Change:
    """Change one number of an array."""

    def change(header: dict[str, Any], arrays: dict[str, Array]) -> None:
        arrays[name].reshape(-1)[place] = value

    return change


def head(**entries: Any) -> Change:
    return lambda header, arrays: header.update(entries)


def records(edit: Callable[[pa.Table], pa.Table], name: str = "records") -> Change:
    """Change a table in the set."""

    def change(header: dict[str, Any], arrays: dict[str, Array]) -> None:
        arrays[name] = _table_bytes(edit(_read_table(arrays[name])))

    return change


def cells(column: str, values: Callable[[list[Any]], list[Any]], kind: pa.DataType | None = None) -> Change:
    def edit(table: pa.Table) -> pa.Table:
        place = table.schema.names.index(column)
        changed = values(table[column].to_pylist())
        return table.set_column(place, column, pa.array(changed, kind or table.schema.field(column).type))

    return records(edit)


def first_null(values: list[Any]) -> list[Any]:
    return [None, *values[1:]]


def added(name: str) -> Change:
    return lambda header, arrays: arrays.update({name: np.zeros(3, np.int64)})


def test_a_part_of_a_part_of_a_crafted_set_is_never_reached(compiled: CompiledSet) -> None:
    """One number: the second key tests the number twice. Taking keys out of its rows left memory that was never set."""
    refused = []
    for place in range(7):
        for number in range(7):
            for verify in (True, False):
                try:
                    part = crafted(compiled, put("signature_numbers", place, number), verify=verify)
                except CompiledSetError as error:
                    refused.append(str(error))
                    continue
                for _ in range(3):
                    part = part.take(np.arange(len(part)))
    assert any("tests an attribute twice" in one for one in refused)


def test_a_row_that_repeats_an_attribute_is_refused(compiled: CompiledSet) -> None:
    def change(header: dict[str, Any], arrays: dict[str, Array]) -> None:
        first = int(np.flatnonzero(np.diff(arrays["start"]) >= 2)[0])
        place = arrays["start"][first]
        arrays["attribute"][place + 1] = arrays["attribute"][place]

    with pytest.raises(CompiledSetError, match="tests an attribute twice"):
        crafted(compiled, change, verify=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("table", 0, 3), "in no hash table, or in two places"),
        (lambda header, arrays: arrays["table"].fill(-1), "in no hash table"),
        (put("cuts", 0, 2**63 - 1), "cuts step back"),
        (put("inexact", 0, 10**6), "a subscription to verify points outside"),
        (lambda header, arrays: arrays.update(inexact=arrays["inexact"][::-1]), "verify are out of order"),
        (lambda header, arrays: arrays.update(inexact=arrays["inexact"].reshape(-1, 1)), "inexact has another type"),
        (put("program_jumps", 0, 0), "a program goes back, or too far"),
        (put("program_jumps", 1, 10**6), "a program goes back, or too far"),
        (put("program_attribute", 0, 4000), "a step points outside"),
        (put("program_slot", 0, 10**6), "a program points outside"),
        (lambda header, arrays: arrays.update(program_slot=arrays["program_slot"][::-1]), "programs are out of order"),
        (lambda header, arrays: arrays.update(program_jumps=arrays["program_jumps"][1:]), "programs differ in length"),
        (put("labels/3", 0, -(2**62)), "a label of k points outside"),
        (put("labels/3", 6, 2**62), "a label of k points outside"),
        (lambda header, arrays: arrays["labels/3"].__setitem__(1, arrays["labels/3"][0] + 3), "k are out of order"),
        (records(lambda table: table.take(pa.array([1, 0, 2, 3, 4, 5, 6])), "texts/3"), "k are out of order"),
        (records(lambda table: table.rename_columns(["other"]), "texts/3"), "of other than texts"),
        (records(lambda table: table.drop_columns(["where"])), "to verify has no text"),
        (cells("where", lambda values: [None] * len(values)), "to verify has no text"),
        (cells("subscription_id", first_null), "a subscription_id is NULL"),
        (records(lambda table: table.append_column("version", pa.nulls(300, pa.int64()))), "a version is NULL"),
        (records(lambda table: table.append_column("topic", table["topic"])), "other columns"),
        (records(lambda table: table.append_column("more", table["topic"])), "a column 'more'"),
        (records(lambda table: table.append_column("valid_to", table["valid_from"])), "ends before it begins"),
        (cells("subscription_id", lambda values: [float(i) for i in range(300)], pa.float64()), "its ids are double"),
        (added("other"), "arrays that no one reads"),
        (head(more=1), "in excess"),
        (head(slots=True), "slots in its header is True"),
        (head(seed="1"), "seed in its header is '1'"),
        (head(blocked_rows=225.0), "blocked_rows in its header is 225.0"),
        (head(ordered=[1]), "ordered points outside"),
        (head(ordered=[True]), "ordered points outside"),
        (head(attributes=[["v"], ["v"], ["$topic"], ["k"], ["w"], ["$time"]]), "stands twice"),
        (head(attributes=[["v"], "n", ["$topic"], ["k"], ["w"], ["$time"]]), "is no path"),
        (head(attributes=[["v"], ["n", -1], ["$topic"], ["k"], ["w"], ["$time"]]), "is no path"),
    ],
)
def test_what_a_set_cannot_be_is_refused(compiled: CompiledSet, change: Change, message: str) -> None:
    for verify in (True, False):
        with pytest.raises(CompiledSetError, match=message):
            crafted(compiled, change, verify=verify)


def test_a_set_that_claims_to_be_large_is_given_no_memory(compiled: CompiledSet) -> None:
    """A shape is held against the bytes that are there before anything is made of it."""
    header, arrays = compiled._parts()
    buffer = bytes(pack({**header, "hash": content_hash_of(header, arrays)}, arrays))
    shape = np.array([len(arrays["slot"])], np.int64).tobytes()
    spoiled = buffer.replace(shape, np.array([10**12], np.int64).tobytes())
    assert spoiled != buffer
    for verify in (True, False):
        with pytest.raises(CompiledSetError, match="has only"):
            CompiledSet.from_bytes(spoiled, verify=verify)


def test_a_set_in_the_middle_of_a_message_is_read(compiled: CompiledSet) -> None:
    """Kernels read whole words: a buffer that begins between two is copied."""
    message = b"abc" + bytes(compiled.to_bytes())
    loaded = CompiledSet.from_bytes(memoryview(message)[3:])
    assert loaded.content_hash == compiled.content_hash
    assert all(array.flags.aligned for array in loaded._view.engine.index.arrays().values())  # type: ignore[attr-defined]


def test_an_unknown_way_to_verify_is_refused(compiled: CompiledSet) -> None:
    with pytest.raises(ValueError, match="verify is True, False or 'texts'"):
        CompiledSet.from_bytes(compiled.to_bytes(), verify="deep")


def test_an_empty_set_passes_every_check() -> None:
    empty = rookery.matcher(rookery.Schema(x=float)).compile()
    assert len(CompiledSet.from_bytes(empty.to_bytes(), verify="texts")) == 0
