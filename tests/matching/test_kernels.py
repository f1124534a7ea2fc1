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

from rookery.matching import code_kernels, kernels, pieces
from rookery.matching.bitmap import build_kernels, check_kernels, event_kernels, positions
from rookery.matching.bitmap import kernels as bitmap_kernels
from rookery.matching.bitmap.build import BitmapIndex, build_index
from rookery.matching.bitmap.engine import BitmapEngine, index_rows, index_table
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
    for given_pairs in (pairs, np.sort(pairs), np.unique(pairs)):
        assert kernels.ascends(given_pairs) == (len(given_pairs) == 0 or bool((np.diff(given_pairs) > 0).all()))
        for first in (0, 7):
            assert same_arrays(kernels.order_pairs(given_pairs.copy(), 6, first), twins.order_pairs(pairs, 6, first))


def test_many_pairs_are_put_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that go to arrays of NumPy too, of which some stand twice."""
    monkeypatch.setattr(pieces, "MANY_PAIRS", 1000)
    random = np.random.default_rng(5)
    pairs = random.integers(0, 6, 3000) << 32 | random.integers(0, 2000, 3000)
    found = pieces.in_order(pairs.copy(), 6, 9)
    assert same_arrays(found, twins.order_pairs(pairs, 6, 9))
    assert len(found[0]) < len(pairs)
    once = np.unique(pairs)
    assert same_arrays(pieces.in_order(once.copy(), 6, 9), found)


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


@given(st.lists(EXTREMES, min_size=1, max_size=bitmap_kernels.CUTS), EXTREMES)
def test_buckets_count_the_cut_points_below(points: list[int], code: int) -> None:
    cuts = np.full((1, bitmap_kernels.CUTS), 2**63 - 1, np.int64)
    cuts[0, : len(points)] = sorted(points)
    if code < 2**63 - 1:  # the padding of unused cut points is the highest code
        assert bitmap_kernels.bucket_of(cuts, 0, code) == twin.bucket_of(cuts, 0, code)


def same_arrays(one: tuple[Array, ...], other: tuple[Array, ...]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize(("seed", "count"), [(1, 40), (2, 300), (3, 1200), (4, 6500)])
def test_an_index_is_built_and_matched_as_the_twin_says(
    seed: int, count: int, short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(positions, "LEAST_PREDICATES", 0 if short else 1 << 62)
    random = Random(seed)
    attributes = 5
    rows = random_rows(random, count, attributes, equalities=0.0 if seed == 4 else 0.5)
    index = build_index(rows, attributes)
    stored = index.stored()
    assert index.bounds.dtype == (np.int32 if short else np.int64)
    lines = np.zeros_like(index.lines)
    twin.fill_blocks(
        index.blocked_rows, index.block_first, index.block_numbers, stored.start, stored.attribute,
        stored.bounds, stored.pool, index.cuts, lines,
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
        codes, codes, alive, index.list_numbers, index.list_keys, index.list_code, index.list_first, index.list_table,
        index.list_posting, index.slot, stored.start, stored.attribute, stored.bounds, stored.pool,
    )  # fmt: skip
    assert found == pairs(np.concatenate([twin.match_events(index, codes, alive), listed]))
    for event in range(len(codes)):
        match_one_event(index, codes[event : event + 1], alive)
    brute = twins.scan_rows(codes, 0, count, rows.slot, alive, rows.start, rows.attribute, rows.bounds, rows.pool)
    assert found == pairs(brute)


def match_one_event(index: BitmapIndex, codes: Array, alive: Array) -> None:
    """Require that one event is matched as the twin says, with room for all of its slots, for some and for none."""
    room = np.empty(len(index.slot), np.int64)
    count = twin.match_event(index, codes, alive, room)
    for size in (len(room), count // 2, 0):
        found = np.full(size, -1, np.int64)
        assert event_kernels.match_event(codes, alive, index_table(index), index.bounds, found) == count
        assert set(found[:count].tolist()) <= set(room[:count].tolist())
        assert size < count or sorted(found[:count].tolist()) == sorted(room[:count].tolist())


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize(
    ("keys", "step", "own_places"), [(1, 1, True), (1, 1009, False), (2, 1, True), (2, 1009, False)]
)
def test_keys_that_fill_their_range_have_places_of_their_own(
    keys: int, step: int, own_places: bool, twice: bool, more: bool
) -> None:
    """Of one attribute or two, with a row or more for each, decided by the key or not; for any code an event has."""
    random = Random(keys)
    values = [[step * (one - 30)] if keys == 1 else [step * (one // 10 - 3), step * (one % 10)] for one in range(60)]
    tested = [
        [(number, (value, value)) for number, value in enumerate(one)] + [(2, (0, random.randrange(9)))] * more
        for one in values * (1 + twice)
    ]
    random.shuffle(tested)
    count = len(tested)
    rows = Rows(
        np.arange(count, dtype=np.int32),
        np.arange(count + 1) * (keys + more),
        np.array([number for one in tested for number, _ in one], np.uint16),
        np.array([interval for one in tested for _, interval in one], np.int64).reshape(-1, 2),
        np.empty((0, 2), np.int64),
    )
    index = build_index(rows, 3)
    assert bool(index.key_span.any()) == own_places
    edges = [
        NULL_CODE,
        NULL_CODE + 1,
        2**63 - 1,
        -31 * step,
        30 * step,
        -4 * step,
        3 * step,
        10 * step,
        -1,
        1 << 32,
        -(1 << 32),
    ]
    codes = np.array(
        [[*(random.choice([random.choice(values)[at], random.choice(edges)]) for at in (0, keys - 1)), 4]
         for _ in range(600)] + [[*(one * 2)[:2], 4] for one in values], np.int64,
    )  # fmt: skip
    alive = np.array([random.random() < 0.9 for _ in range(count)], np.uint8)
    wanted = pairs(
        twins.scan_rows(codes, 0, count, rows.slot, alive, rows.start, rows.attribute, rows.bounds, rows.pool)
    )
    assert pairs(BitmapEngine(index).probe(codes, alive)) == wanted
    assert len(wanted) > 40
    for event in range(0, len(codes), 7):
        match_one_event(index, codes[event : event + 1], alive)
    assert sorted(pairs(index_rows(index).bounds.reshape(-1))) == sorted(pairs(rows.bounds.reshape(-1)))


def test_one_event_passes_over_whole_summaries() -> None:
    """Of a partition of more blocks than a summary has, each event finds what a scan finds."""
    random = Random(9)
    count = 520 * bitmap_kernels.BLOCK_ROWS
    low = np.array([random.randrange(1 << 40) for _ in range(count)], np.int64)
    rows = Rows(
        np.arange(count, dtype=np.int32), np.arange(count + 1), np.zeros(count, np.uint16),
        np.stack([low, low + (1 << 24)], axis=1), np.empty((0, 2), np.int64),
    )  # fmt: skip
    index = build_index(rows, 1)
    assert len(index.group_block) == 2
    engine, alive = BitmapEngine(index), np.ones(count, np.uint8)
    for code in [*low[:20].tolist(), *(low[20:40] + (1 << 24)).tolist(), 0, 1 << 41, NULL_CODE]:
        inside = np.flatnonzero((low <= code) & (code <= low + (1 << 24)))
        assert engine.probe_event(np.array([[code]], np.int64), alive) == inside.tolist()


@given(st.lists(st.tuples(st.integers(0, 2), EXTREMES, EXTREMES, EXTREMES), max_size=8))
def test_one_event_is_coded_as_the_twin_says(places: list[tuple[int, int, int, int]]) -> None:
    raw = np.array([[word for _, word, _, _ in places]], np.int64).reshape(1, -1)
    forms = np.array([(form, low, high) for form, _, low, high in places], np.int64).reshape(-1, 3)
    plain = raw.copy()
    assert code_kernels.code_event(raw, forms) == twins.code_event(plain, forms)
    assert np.array_equal(raw, plain)


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
                (i.signature_first, i.key_low, i.key_span, i.table_first, i.table, i.seed, i.partition_key, owner),
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
