"""Rows cut out of columns as they travel: what reading and encoding them again would give, for whatever is in them."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.twins.row_cuts import cut_rows

from rookery.brokers.batches import NOTHING, EventBatch, batch_of
from rookery.brokers.row_cuts import RowCuts, part_of

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=40),
    st.binary(max_size=40),
    st.builds(msgspec.msgpack.Ext, st.integers(0, 127), st.binary(max_size=20)),
    st.sampled_from(["x" * 300, b"y" * 70_000]),
)
INNER = st.text(max_size=9)
VALUES = st.recursive(LEAVES, lambda one: st.lists(one, max_size=20) | st.dictionaries(INNER, one), max_leaves=8)
encode = msgspec.msgpack.encode


@settings(max_examples=60)
@given(st.data(), st.integers(1, 18), st.dictionaries(st.text(max_size=40), st.just(None), min_size=1, max_size=18))
def test_a_part_has_the_values_of_its_rows(data: st.DataObject, count: int, names: dict[str, None]) -> None:
    columns = {name: [data.draw(VALUES) for _ in range(count)] for name in names}
    batch = EventBatch(7, 100, count, msgspec.Raw(encode(columns)), tuple(range(3, 3 + 2 * count, 2)))
    rows = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=count, unique=True))
    part = part_of(batch, rows)
    if len(rows) == count:
        assert part is batch
        return
    assert part.offsets == tuple(3 + 2 * row for row in rows)
    assert bytes(part.columns) == cut_rows(bytes(batch.columns), rows, count)


def test_parts_of_parts_and_long_ones() -> None:
    events: list[dict[str, Any]] = [{"a": number, "b": "x" * (number % 50)} for number in range(70_000)]
    columns = {name: [event[name] for event in events] for name in ("a", "b")}
    whole = EventBatch(7, 0, len(events), msgspec.Raw(encode(columns)))
    cuts = RowCuts(whole)
    for rows in (range(69_000), range(0, 70_000, 7), [69_999]):
        part = cuts.part(rows)
        assert bytes(part.columns) == cut_rows(bytes(whole.columns), rows, len(events))
        assert part.offsets == tuple(rows)
    assert part_of(part_of(batch_of(7, 1, events[:9]), [1, 3, 5]), [2]).offsets == (5,)


@settings(max_examples=300)
@given(st.binary(max_size=40), st.integers(1, 4), st.data())
@example(b"\xdf\xff\xff\xff\xff", 1, None)
@example(b"\x81\xa1a\xdd\xff\xff\xff\xff", 2, None)
@example(b"\x81\xa1a\x92\xdb\xff\xff\xff\xff\x01", 2, None)
def test_bytes_that_make_no_sense_have_no_columns(noise: bytes, count: int, data: st.DataObject | None) -> None:
    """Whatever is cut, or damaged anywhere, gives the right part or none, and never reads past the end."""
    if data is not None:
        good = bytearray(encode({"a": [*range(count)], "b": ["text"] * count}))
        place = data.draw(st.integers(0, len(good)))
        noise = data.draw(st.sampled_from([noise, bytes(good[:place]), bytes(good[:place]) + noise]))
    batch = EventBatch(7, 1, count, msgspec.Raw(noise))
    if count > 1:
        part = bytes(part_of(batch, [0]).columns)
        expected = cut_rows(noise, [0], count)
        decode = msgspec.msgpack.decode
        assert part == bytes(NOTHING) or expected is None or decode(part) == decode(expected)
        if expected is not None and len(decode(noise)) == 2:
            assert part == expected
