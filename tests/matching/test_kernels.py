"""Each kernel equals its plain twin."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins import bitmap as twin
from tests.twins import bitmap_checks as check_twin
from tests.twins import lists as list_twin
from tests.twins import rows as twins

from rookery.matching import kernels
from rookery.matching.bitmap import build_kernels, check_kernels
from rookery.matching.bitmap import kernels as bitmap_kernels
from rookery.matching.bitmap.build import BitmapIndex, build_index
from rookery.matching.bitmap.engine import BitmapEngine, index_rows
from rookery.matching.kernels import NULL_CODE, SET_FLAG
from rookery.matching.rows import Rows

Array = np.ndarray[Any, Any]
INT64 = st.integers(-(2**63), 2**63 - 1)
EXTREMES = st.sampled_from([-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 1]) | INT64


@given(st.lists(st.tuples(st.floats(), st.booleans()), max_size=20))
def test_doubles_get_their_codes(items: list[tuple[float, bool]]) -> None:
    values = np.array([value for value, _ in items], np.float64)
    valid = np.array([good for _, good in items], np.bool_)
    codes, plain = np.zeros((len(items), 2), np.int64), np.zeros((len(items), 2), np.int64)
    kernels.encode_doubles(values, valid, codes, 1)
    twins.encode_doubles(values, valid, plain, 1)
    assert (codes == plain).all()
    known = [
        (value, code)
        for (value, good), code in zip(items, codes[:, 1].tolist(), strict=True)
        if good and value == value
    ]
    assert all((one < other) == (a < b) and (one == other) == (a == b) for one, a in known for other, b in known)


@given(st.lists(st.tuples(EXTREMES, st.booleans()), max_size=20))
def test_integers_get_their_codes(items: list[tuple[int, bool]]) -> None:
    values = np.array([value for value, _ in items], np.int64)
    valid = np.array([good for _, good in items], np.bool_)
    codes, plain = np.zeros((len(items), 1), np.int64), np.zeros((len(items), 1), np.int64)
    kernels.encode_integers(values, valid, codes, 0)
    twins.encode_integers(values, valid, plain, 0)
    assert (codes == plain).all()
    assert ((codes[:, 0] == NULL_CODE) == ~valid).all()


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9) | st.integers(0, 2**31 - 1)), max_size=60)
    # Many of one event, over what is sorted by insertion: near each other, in words apart, and too far for bits.
    | st.lists(st.tuples(st.just(3), st.integers(0, 99)), min_size=30, max_size=200)
    | st.lists(st.tuples(st.integers(2, 3), st.integers(0, 20_000)), min_size=60, max_size=200)
    | st.lists(st.tuples(st.integers(2, 3), st.integers(0, 2**31 - 1)), min_size=60, max_size=200)
)
def test_pairs_are_put_in_order(items: list[tuple[int, int]]) -> None:
    pairs = np.array([event << 32 | slot for event, slot in items], np.int64)
    assert same_arrays(kernels.order_pairs(pairs.copy(), 6), twins.order_pairs(pairs, 6))


def random_rows(random: Random, count: int, attributes: int, *, equalities: float = 0.4) -> Rows:
    """Return rows with points, ranges, sets and NULLs, over codes from 0 to 99."""
    start, numbers, bounds, pool = [0], [], [], []
    for _ in range(count):
        for number in sorted(random.sample(range(attributes), random.randint(0, min(4, attributes)))):
            shape = random.random()
            low = random.randrange(100)
            if shape < equalities:
                low = random.randrange(6)
                numbers.append(number)
                bounds.append((low, low))
            elif shape < 0.8:
                numbers.append(number)
                bounds.append((low, low + random.randrange(50)))
            elif shape < 0.85:
                numbers.append(number)
                bounds.append((NULL_CODE, random.choice([NULL_CODE, low])))
            else:
                pieces = [(NULL_CODE, NULL_CODE)] if random.random() < 0.3 else []
                pieces += [
                    (low + 10 * place, low + 10 * place + random.randrange(8)) for place in range(random.randint(2, 4))
                ]
                numbers.append(number | SET_FLAG)
                bounds.append((len(pool), len(pool) + len(pieces)))
                pool += pieces
        start.append(len(numbers))
    return Rows(
        np.arange(count, dtype=np.int32),
        np.array(start, np.int64),
        np.array(numbers, np.uint16),
        np.array(bounds, np.int64).reshape(-1, 2),
        np.array(pool, np.int64).reshape(-1, 2),
    )


def random_codes(random: Random, events: int, attributes: int) -> Array:
    codes = [
        [
            NULL_CODE if random.random() < 0.1 else random.choice([random.randrange(6), random.randrange(140)])
            for _ in range(attributes)
        ]
        for _ in range(events)
    ]
    return np.array(codes, np.int64).reshape(events, attributes)


def pairs(array: Array) -> list[int]:
    return sorted(array.tolist())


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_rows_are_scanned_as_the_twin_says(random: Random) -> None:
    rows, codes = random_rows(random, 12, 3), random_codes(random, 6, 3)
    alive = np.array([random.random() < 0.8 for _ in range(12)], np.uint8)
    arguments = (codes, 2, 11, rows.slot, alive, rows.start, rows.attribute, rows.bounds, rows.pool)
    assert pairs(kernels.scan_rows(*arguments)) == pairs(twins.scan_rows(*arguments))
    for row in range(12):
        same = (codes, 0, row, rows.start, rows.attribute, rows.bounds, rows.pool)
        assert kernels.row_holds(*same) == twins.row_holds(*same)


@given(st.lists(EXTREMES, min_size=1, max_size=31), EXTREMES)
def test_buckets_count_the_cut_points_below(points: list[int], code: int) -> None:
    cuts = np.full((1, bitmap_kernels.CUTS), 2**63 - 1, np.int64)
    cuts[0, : len(points)] = sorted(points)
    if code < 2**63 - 1:  # the padding of unused cut points is the highest code
        assert bitmap_kernels.bucket_of(cuts, 0, code) == twin.bucket_of(cuts, 0, code)


def same_arrays(one: tuple[Array, ...], other: tuple[Array, ...]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(("seed", "count"), [(1, 40), (2, 300), (3, 1200), (4, 6500)])
def test_an_index_is_built_and_matched_as_the_twin_says(seed: int, count: int) -> None:
    random = Random(seed)
    attributes = 5
    rows = random_rows(random, count, attributes, equalities=0.0 if seed == 4 else 0.5)
    index = build_index(rows, attributes)
    lines = np.zeros_like(index.lines)
    twin.fill_blocks(
        index.blocked_rows, index.block_first, index.block_numbers, index.start, index.attribute, index.bounds,
        index.pool, index.cuts, lines,
    )  # fmt: skip
    assert np.array_equal(lines, index.lines)
    summary = np.zeros_like(index.group_lines)
    twin.fill_groups(
        index.group_block, index.group_first, index.group_numbers, index.block_first, index.block_numbers, index.lines,
        index.blocked_rows, summary,
    )  # fmt: skip
    assert np.array_equal(summary, index.group_lines)
    assert seed != 4 or len(index.group_block)
    codes = random_codes(random, 12, attributes)
    alive = np.array([random.random() < 0.9 for _ in range(count)], np.uint8)
    found = pairs(BitmapEngine(index).probe(codes, alive))
    listed = list_twin.match_lists(
        codes, alive, index.list_numbers, index.list_keys, index.list_code, index.list_first, index.list_table,
        index.list_posting, index.slot, index.start, index.attribute, index.bounds, index.pool,
    )  # fmt: skip
    assert found == pairs(np.concatenate([twin.match_events(index, codes, alive), listed]))
    brute = twins.scan_rows(codes, 0, count, rows.slot, alive, rows.start, rows.attribute, rows.bounds, rows.pool)
    assert found == pairs(brute)


@pytest.mark.parametrize("seed", range(4))
def test_keys_are_assigned_stripped_and_restored_as_the_twin_says(seed: int) -> None:
    from rookery.matching.bitmap.signatures import choose_signatures

    random = Random(seed)
    rows = random_rows(random, 400, 4, equalities=0.8)
    signature, first, numbers = choose_signatures(rows, 4)
    keys, plain = np.zeros((400, 4), np.int64), np.zeros((400, 4), np.int64)
    arguments = (rows.start, rows.attribute, rows.bounds, signature, first, numbers, 7)
    assert np.array_equal(build_kernels.assign_keys(*arguments, keys), twin.assign_keys(*arguments, plain))
    assert np.array_equal(keys, plain)
    order = np.array(random.sample(range(400), 400), np.int64)
    starts, plain_starts = np.empty(401, np.int64), np.empty(401, np.int64)
    same = (order, rows.start, rows.attribute, rows.bounds, signature, first, numbers)
    assert same_arrays(build_kernels.strip_keys(*same, starts), twin.strip_keys(*same, plain_starts))
    assert np.array_equal(starts, plain_starts)


def test_the_rows_of_an_index_come_back_whole() -> None:
    rows = random_rows(Random(5), 600, 4, equalities=0.7)
    index = build_index(rows, 4)
    assert content(index_rows(index)) == content(rows)
    keyed = index.listed_from
    end = index.start[keyed]
    assert 0 < keyed < len(rows)  # the others are filed under lists
    arguments = (
        index.partition_first, index.partition_key, index.partition_signature(), index.signature_first,
        index.signature_numbers, index.start[: keyed + 1], index.attribute[:end], index.bounds[:end],
    )  # fmt: skip
    assert same_arrays(build_kernels.restore_keys(*arguments), twin.restore_keys(*arguments))


def content(rows: Rows) -> dict[int, set[Any]]:
    """Return what each row tests, without regard to order."""
    found: dict[int, set[Any]] = {}
    for row in range(len(rows)):
        tests = set()
        for place in range(rows.start[row], rows.start[row + 1]):
            number, (low, high) = int(rows.attribute[place]), rows.bounds[place].tolist()
            pieces = rows.pool[low:high].tolist() if number & SET_FLAG else [[low, high]]
            tests.add((number, str(pieces)))
        found[int(rows.slot[row])] = tests
    return found


def test_spans_and_axes_are_as_the_twin_says() -> None:
    rows = random_rows(Random(6), 300, 5)
    index: BitmapIndex = build_index(rows, 5)
    spans, plain = np.empty((len(rows.attribute), 2), np.uint8), np.empty((len(rows.attribute), 2), np.uint8)
    weight, plain_weight = np.zeros(5), np.zeros(5)
    build_kernels.bucket_spans(rows.attribute, rows.bounds, rows.pool, index.cuts, spans, weight)
    twin.bucket_spans(rows.attribute, rows.bounds, rows.pool, index.cuts, plain, plain_weight)
    assert np.array_equal(spans, plain)
    assert np.array_equal(weight, plain_weight)
    rank = np.array([3, 1, 4, 0, 2], np.int64)
    axes, plain_axes = np.empty((300, 4), np.int64), np.empty((300, 4), np.int64)
    build_kernels.pick_axes(rows.start, rows.attribute, spans, rank, axes)
    twin.pick_axes(rows.start, rows.attribute, spans, rank, plain_axes)
    assert np.array_equal(axes, plain_axes)


def test_a_table_leads_to_every_partition() -> None:
    hashes = np.array([5, 5, 6, 13, 1 << 40], np.uint64)
    table = np.full(16, -1, np.int32)
    build_kernels.fill_table(hashes, np.array([0, 16], np.int64), np.zeros(5, np.int64), table)
    assert sorted(table[table >= 0].tolist()) == [0, 1, 2, 3, 4]
    for partition, value in enumerate(hashes.tolist()):
        place = value % 16
        while table[place] != partition:
            assert table[place] >= 0
            place = (place + 1) % 16


@pytest.mark.parametrize("seed", range(3))
def test_an_index_is_proved_as_the_twin_says(seed: int) -> None:
    """A sound index has no fault; with one number changed, kernel and twin name the same first fault."""
    random = Random(seed)
    index = build_index(random_rows(random, 700, 4, equalities=(0.0, 0.5, 0.8)[seed]), 4)
    faults = set()
    for trial in range(40):
        arrays = {name: array.copy() for name, array in index.arrays().items()}
        name = random.choice(["attribute", "signature_numbers", "lines", "bounds", "table", "partition_key"])
        flat = arrays[name].reshape(-1)
        if trial and len(flat):
            place, other = random.randrange(len(flat)), random.randrange(len(flat))
            flat[place], flat[other] = flat[other], flat[place]
        i = BitmapIndex.of(arrays, seed=index.seed, blocked_rows=index.blocked_rows)
        owner = i.partition_signature()
        keyed = (i.signature_first, i.signature_numbers)
        for kernel, plain, arguments in (
            (
                check_kernels.first_repeating_row,
                check_twin.first_repeating_row,
                (4, i.partition_first, owner, *keyed, i.start, i.attribute),
            ),
            (
                check_kernels.first_lost_partition,
                check_twin.first_lost_partition,
                (*keyed, i.table_first, i.table, i.seed, i.partition_key, owner),
            ),
        ):
            fault = kernel(*arguments)
            assert fault == plain(*arguments)
            assert trial or fault < 0
            faults.add((kernel.__name__, fault >= 0))
        if trial < 8:
            lined = (i.blocked_rows, i.block_first, i.block_numbers, i.start, i.attribute, i.bounds, i.pool, i.cuts)
            fault = check_kernels.first_false_block(*lined, i.lines)
            assert fault == check_twin.first_false_block(*lined, i.lines)
            assert trial or fault < 0
    assert ("first_repeating_row", True) in faults
    assert seed == 0 or ("first_lost_partition", True) in faults
