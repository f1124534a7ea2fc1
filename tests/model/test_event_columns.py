"""Columns: what a column reads is what its values read one by one, in whatever form Arrow holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.event_values import CASES, DISGUISES, arrow_type, attribute_of, column_of, kind_of, raw_of

import rookery
from rookery.errors import EventError
from rookery.model.event_columns import array_of, comparables, read_column, whole_array
from rookery.model.events import comparable
from rookery.model.schema import Attribute, Schema

BY_PAIR: dict[tuple[str, str], list[Any]] = {}
for _name, _arrow, _value, _ in CASES:
    BY_PAIR.setdefault((_name, _arrow), []).append(_value)
#: Every value of an Arrow type that some case has, for any attribute.
BY_ARROW: dict[str, list[Any]] = {}
for _, _arrow, _value, _ in CASES:
    BY_ARROW.setdefault(_arrow, []).append(_value)
ATTRIBUTES = sorted({name for name, *_ in CASES})


def rows_of(attribute: Attribute, kind: pa.DataType, values: list[Any]) -> tuple[list[Any], str | None]:
    """Return what the values read one by one (None for a misfit), and the first error's text."""
    read: list[Any] = []
    first = None
    for value in values:
        try:
            read.append(comparable(attribute, raw_of(kind, value)))
        except EventError as error:
            first = first or str(error)
            read.append(None)
    return read, first


def check(attribute: Attribute, kind: pa.DataType, values: list[Any], column: Any, where: Attribute) -> None:
    """Compare a column that holds values at `where` with the values one by one."""
    read, error = rows_of(attribute, kind, values)
    assert comparables(where, read_column(where, column, on_error="null")) == read
    if error is None:
        array = read_column(where, column)
        assert comparables(where, array) == read
        assert isinstance(array, pa.Array)
        return
    with pytest.raises(EventError) as caught:
        read_column(where, column)
    assert str(caught.value) == error.replace("x", where.text, 1)


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_column_reads_as_its_values_do(disguise: str) -> None:
    for (name, arrow), known in BY_PAIR.items():
        attribute, kind = attribute_of(name), arrow_type(arrow)
        for values in (known, [one for value in known for one in (None, value)]):
            check(attribute, kind, values, DISGUISES[disguise](column_of(kind, values)), attribute)


@given(st.data())
def test_any_column_for_any_attribute(data: st.DataObject) -> None:
    name, arrow = data.draw(st.sampled_from(ATTRIBUTES)), data.draw(st.sampled_from(sorted(BY_ARROW)))
    kind = arrow_type(arrow)
    values: Any = st.sampled_from([None, *BY_ARROW[arrow]])
    if pa.types.is_integer(kind):
        high = 2 ** (kind.bit_width - pa.types.is_signed_integer(kind))
        near = st.sampled_from([0, 2**24, 2**53, 2**60, high]).flatmap(lambda one: st.integers(one - 3, one + 3))
        signed = st.tuples(near, st.sampled_from([1, -1])).map(lambda pair: pair[0] * pair[1])
        values |= signed.filter(lambda one: -high * pa.types.is_signed_integer(kind) <= one < high)
    if pa.types.is_float64(kind):
        values |= st.floats()
    drawn = data.draw(st.lists(values, max_size=6))
    attribute = attribute_of(name)
    disguise = data.draw(st.sampled_from(sorted(DISGUISES)))
    check(attribute, kind, drawn, DISGUISES[disguise](column_of(kind, drawn)), attribute)


def whole(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


NESTED = ["int64", "string_view", "timestamp[ns]", "decimal128(10,2)", "float64", "binary_view"]


@pytest.mark.parametrize("disguise", DISGUISES)
def test_fields_and_items_read_as_their_values_do(disguise: str) -> None:
    for arrow in NESTED:
        for name in ("int64", "string", "timestamp[us]", "float64"):
            check_nested(name, arrow, disguise)


def check_nested(name: str, arrow: str, disguise: str) -> None:
    """Check a struct's field and a list's second item, with NULL parents whose hidden values must not matter."""
    kind = arrow_type(arrow)
    values = [*BY_ARROW[arrow], None, *BY_ARROW[arrow]]
    hidden = np.arange(len(values)) % 3 == 0
    seen = [None if hide else value for hide, value in zip(hidden, values, strict=True)]
    attribute = attribute_of(name)
    inner = whole(DISGUISES[disguise](column_of(kind, values)))
    struct = pa.StructArray.from_arrays([inner, inner], ["b", "unused"], mask=pa.array(hidden))
    where = Schema.from_dict({"a": {"b": kind_of(name)}}).attribute(("a", "b"))
    for column in (struct, pa.chunked_array([struct[:2], struct[2:]])):
        check(attribute, kind, seen, column, where)
    # Each list is [other, value], and every third one is NULL though its items are there.
    pairs = whole(DISGUISES[disguise](column_of(kind, [one for value in values for one in (values[0], value)])))
    where = Schema.from_dict({"a": [kind_of(name)]}).attribute(("a", 1))
    mask = pa.array(hidden)
    ends = pa.array(np.arange(len(values) + 1) * 2, pa.int32())
    starts, sizes = ends[:-1], pa.array(np.full(len(values), 2), pa.int32())
    lists = {
        "list": pa.ListArray.from_arrays(ends, pairs, mask=mask),
        "large": pa.LargeListArray.from_arrays(ends.cast(pa.int64()), pairs, mask=mask),
        "fixed": pa.FixedSizeListArray.from_arrays(pairs, 2, mask=mask),
        "view": pa.ListViewArray.from_arrays(starts, sizes, pairs, mask=mask),
    }
    for column in lists.values():
        check(attribute, kind, seen, column, where)
        check(attribute, kind, seen[2:], column[2:], where)
        past = Schema.from_dict({"a": [kind_of(name)]}).attribute(("a", 2))
        assert comparables(past, read_column(past, column)) == [None] * len(values)


def test_items_of_lists_of_structs_of_views() -> None:
    rows = [{"a": [{"b": "ab"}, {"b": "cd"}]}, {"a": []}, {"a": None}, {"a": [None]}, {"a": [{"b": None}, {"b": "x"}]}]
    kind = pa.list_(pa.struct([("b", pa.string_view())]))
    column = pa.array([row["a"] for row in rows], kind)
    schema = Schema.from_dict({"a": [{"b": "string"}]})
    for index, wanted in ((0, ["ab", None, None, None, None]), (1, ["cd", None, None, None, "x"])):
        where = schema.attribute(("a", index, "b"))
        assert comparables(where, read_column(where, column)) == wanted
        assert comparables(where, read_column(where, column[1:])) == wanted[1:]
        assert comparables(where, read_column(where, [row["a"] for row in rows])) == wanted


def test_a_column_of_another_shape_is_the_error_of_its_values() -> None:
    attribute = Schema.from_dict({"a": {"b": "int64"}}).attribute(("a", "b"))
    nothing = pa.array([None, float("nan")])
    assert comparables(attribute, read_column(attribute, nothing)) == [None, None]
    for column in (pa.array([None, 5]), pa.array([None, [1]]), pa.array([None, "a"])):
        with pytest.raises(EventError, match="a is a struct, and the event has "):
            read_column(attribute, column)
        assert read_column(attribute, column, on_error="null").null_count == 2
    union = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
    number, text = Schema(x=int).attribute(("x",)), Schema(x=str).attribute(("x",))
    assert comparables(number, read_column(number, union, on_error="null")) == [1, None]
    assert comparables(text, read_column(text, union, on_error="null")) == [None, "b"]


def test_a_missing_or_repeated_field_is_an_error_or_null() -> None:
    attribute = Schema.from_dict({"a": {"c": "int64"}}).attribute(("a", "c"))
    without = pa.array([{"b": 1}])
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["c", "c"])
    for column, word in ((without, "has no field 'c'"), (twice, "repeats 'c'")):
        with pytest.raises(EventError, match=rf"a\.c.*{word}"):
            read_column(attribute, column)
    assert read_column(attribute, without, missing="null").to_pylist() == [None]


def test_an_empty_column_is_empty_whatever_its_type() -> None:
    for name in ATTRIBUTES:
        attribute = attribute_of(name)
        for kind in map(arrow_type, sorted(BY_ARROW)):
            assert len(read_column(attribute, pa.array([], kind))) == 0
            assert len(read_column(attribute, pa.chunked_array([], kind))) == 0


def test_canonical_booleans_of_eight_bits_are_booleans() -> None:
    column = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None], pa.int8()))
    attribute = Schema(x=bool).attribute(("x",))
    assert comparables(attribute, read_column(attribute, column)) == [True, False, None]


def test_the_first_instant_is_a_value_and_no_nat() -> None:
    column = pa.array([-(2**63), None], pa.int64()).view(pa.timestamp("ns"))
    attribute = attribute_of("timestamp[ns]")
    assert comparables(attribute, read_column(attribute, column)) == [-(2**63), None]
    assert array_of(attribute.type, [-(2**63), None]).cast(pa.int64()).to_pylist() == [-(2**63), None]


def test_one_array_is_not_copied() -> None:
    array = pa.array([1.5])
    assert whole_array([array]) is array
    assert (
        read_column(attribute_of("float64"), pa.chunked_array([array])).buffers()[1].address
        == array.buffers()[1].address
    )


@pytest.mark.parametrize(("kind", "width"), [(pa.string(), np.int32), (pa.large_string(), np.int64)])
def test_texts_whose_first_begins_behind_others(kind: pa.DataType, width: type) -> None:
    """Arrow 26 garbles such arrays in `ascii_lower`."""
    offsets = pa.py_buffer(np.array([3, 5, 7], width))
    texts = pa.Array.from_buffers(kind, 2, [None, offsets, pa.py_buffer(b"xxxABCD")])
    texts.validate(full=True)
    matcher = rookery.matcher(rookery.Schema(s=str))
    matcher.add("folded", "s ILIKE 'ab'")
    matcher.add("computed", "lower(s) = 'cd'")
    found = matcher.match_many(pa.table({"event_id": [1, 2], "s": texts})).to_pylist()
    assert {(one["event_id"], one["subscription_id"]) for one in found} == {(1, "folded"), (2, "computed")}
