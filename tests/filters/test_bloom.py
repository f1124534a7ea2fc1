"""Bloom filters, plain, counting and blocked: vectors, twins, and the equations of seed 000."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.twins import blocked as blocked_twin
from tests.twins import bloom as bloom_twin
from tests.twins.cuckoo import mean_rate

from rookery.errors import FilterError, UnknownKeyError
from rookery.filters import equations
from rookery.filters.blocked import BlockedBloomFilter, blocked_rate
from rookery.filters.blocked import plain as blocked_plain
from rookery.filters.bloom import BloomFilter, CountingBloomFilter, plain
from rookery.filters.bloom.counting import CounterRow
from rookery.filters.container import FILL_CAP
from rookery.filters.hashing import KeyHasher
from rookery.papers.seed_000 import equations as printed

keys = st.lists(st.text(max_size=20), max_size=60)


def test_vectors_of_positions(golden):
    for entry in golden("01_hash")["keys"]:
        for seed in ("seed0", "seed7"):
            value = int(entry[seed]["h"], 16)
            for m, k in ((117, 5), (959, 7)):
                positions = plain.bit_positions(np.array([value], np.uint64), bit_count=m, hash_count=k)
                assert positions[0].tolist() == entry[seed][f"bloom_m{m}_k{k}"]


def test_vectors_of_sizes_bits_and_counters(golden):
    case = golden("06_bloom")
    for name, (m, k) in case["params"].items():
        n, rate = name.strip("()").split(",")
        sized = BloomFilter.sized_for(int(n), float(rate))
        assert (sized.bit_count, sized.hash_count) == (m, k)
    bloom = BloomFilter(bit_count=case["m"], hash_count=case["k"])
    counting = CountingBloomFilter(bit_count=case["m"], hash_count=case["k"])
    for step in case["steps"]:
        if step["op"] == "add":
            bloom.add(step["key"])
            counting.add(step["key"])
            positions = plain.distinct_positions(bloom.hasher(step["key"]), bit_count=117, hash_count=5)
            assert sorted(positions) == step["pos"]
        else:
            assert bloom.bits.tobytes().hex() == case["bits_after_5_adds"]
            assert counting.counters.tolist() == case["counters_after_5_adds"]
            counting.remove(step["key"])
    assert counting.counters.tolist() == case["counters_after_remove"]
    assert counting.to_bytes()[16:].hex() == case["bits_after_remove"]


def test_vectors_of_saturation(golden):
    case = golden("06_bloom")["saturation"]
    row = CounterRow(bit_count=case["m"], hash_count=case["k"])
    value = KeyHasher()(case["key"])
    for _ in range(20):
        row.add_hash(value)
    assert row.counters.tolist() == case["after_20_adds"]
    for _ in range(20):
        row.remove_hash(value)
    assert row.counters.tolist() == case["after_20_removes"]
    assert row.stuck == 2


def test_a_filter_that_holds_its_keys_frees_stuck_counters():
    counting = CountingBloomFilter(bit_count=8, hash_count=2)
    for _ in range(20):
        counting.add("a")
    counting.add("b")
    for _ in range(20):
        counting.remove("a")
        assert "b" in counting
    assert counting.counters.sum() == len(counting._row.positions(counting.hasher("b")))
    with pytest.raises(UnknownKeyError):
        counting.remove("a")


@given(keys, st.integers(1, 300), st.integers(1, 9))
def test_kernels_agree_with_numpy(listed, bit_count, hash_count):
    bloom = BloomFilter(bit_count=bit_count, hash_count=hash_count)
    bloom.add_many(listed[::2])
    hashes = bloom.hasher.many(listed)
    twin = np.zeros((bit_count + 7) // 8, np.uint8)
    bloom_twin.set_hashes(hashes[::2], twin, bit_count=bit_count, hash_count=hash_count)
    assert bloom.bits.tolist() == twin.tolist()
    expected = bloom_twin.contains_hashes(hashes, twin, bit_count=bit_count, hash_count=hash_count).tolist()
    assert bloom.contains_many(listed).tolist() == expected == [key in bloom for key in listed]
    single = BloomFilter(bit_count=bit_count, hash_count=hash_count)
    for key in listed[::2]:
        single.add(key)
    assert single.bits.tolist() == twin.tolist()


@given(keys, st.integers(1, 20))
def test_blocked_kernels_agree_with_numpy(listed, block_count):
    blocked = BlockedBloomFilter(block_count=block_count)
    blocked.add_many(listed[::2])
    hashes = blocked.hasher.many(listed)
    twin = np.zeros(8 * block_count, np.uint32)
    blocked_plain.set_hashes(hashes[::2], twin)
    assert blocked._words.tolist() == twin.tolist()
    expected = blocked_twin.contains_hashes(hashes, twin).tolist()
    assert blocked.contains_many(listed).tolist() == expected == [key in blocked for key in listed]
    single = BlockedBloomFilter(block_count=block_count)
    for key in listed[::2]:
        single.add(key)
    assert single._words.tolist() == twin.tolist()


@given(st.lists(st.sampled_from("abcdefghij")), st.integers(1, 64), st.integers(1, 4))
def test_counting_in_bulk_equals_counting_one_by_one(listed, bit_count, hash_count):
    bulk = CountingBloomFilter(bit_count=bit_count, hash_count=hash_count)
    single = CountingBloomFilter(bit_count=bit_count, hash_count=hash_count)
    bulk.add_many(listed)
    for key in listed:
        single.add(key)
    assert bulk.counters.tolist() == single.counters.tolist()
    assert bulk.contains_many(listed).all()


def test_theorem_one_union_holds_and_intersection_fails(golden):
    """β(A∪B) = β(A)∨β(B) always; β(A∩B) = β(A)∧β(B) does not: two different keys may set the same bit."""
    case = golden("20_theorem_1")

    def bloom(names):
        made = BloomFilter(bit_count=case["m"], hash_count=case["k"])
        made.add_many(names)
        return made

    a, b = bloom(case["A"]), bloom(case["B"])
    assert (a | b).bits.tolist() == bloom(case["A"] + case["B"]).bits.tolist()
    both = a.bits & b.bits
    meant = bloom([name for name in case["A"] if name in case["B"]]).bits
    assert both.tobytes().hex() == case["and_hex"]
    assert meant.tobytes().hex() == case["intersection_hex"]
    assert both.tolist() != meant.tolist()
    assert (meant & ~both).sum() == 0  # only ⊆ holds


@given(keys, keys)
def test_theorem_one_what_holds(first, second):
    a, b, union, common = (BloomFilter(bit_count=64, hash_count=3) for _ in range(4))
    a.add_many(first)
    b.add_many(second)
    union.add_many(first + second)
    common.add_many([key for key in first if key in second])
    assert (a | b).bits.tolist() == union.bits.tolist()
    assert not (common.bits & ~(a.bits & b.bits)).any()


def test_union_needs_one_geometry():
    with pytest.raises(FilterError, match="same size"):
        BloomFilter(bit_count=8, hash_count=1) | BloomFilter(bit_count=9, hash_count=1)


def test_vectors_of_equations(golden):
    case = golden("09_expectations")
    for name, expected in case["bloom_eq1"].items():
        shape = {part.split("=")[0]: int(part.split("=")[1]) for part in name.split(",")}
        assert printed.bloom_rate(**shape) == pytest.approx(expected["exact"], rel=1e-9)
        assert printed.bloom_rate_approximate(**shape) == pytest.approx(expected["approx"], rel=1e-9)
    assert printed.counter_overflow_bound_optimal(m=1) == pytest.approx(case["eq5_factor"], rel=1e-12)
    for name, expected in case["eq5_rows"].items():
        m = int(name.removeprefix("m="))
        assert printed.counter_overflow_bound_optimal(m=m) == pytest.approx(expected, rel=1e-12)
    for name, expected in case["eq5_exact_binomial"].items():
        shape = {part.split("=")[0]: int(part.split("=")[1]) for part in name.split(",")}
        exact = shape["m"] * sum(printed.counter_probability(j=j, **shape) for j in range(16, 80))
        assert exact == pytest.approx(expected, rel=1e-6)
        assert exact <= printed.counter_overflow_bound_tight(j=16, **shape)
        assert printed.counter_overflow_bound_tight(j=16, **shape) <= printed.counter_overflow_bound(j=16, **shape)


def test_vectors_of_the_mean_rate_of_cuckoo_tables(golden):
    for name, expected in golden("09_expectations")["cuckoo_fpr"].items():
        assert mean_rate(load=float(name.removeprefix("load "))) == pytest.approx(expected, rel=1e-9)


def test_optimal_hash_count_minimizes_equation_one():
    for n, m in ((16, 117), (100, 959), (1000, 9585)):
        best = min(range(1, 30), key=lambda k: printed.bloom_rate_approximate(n=n, m=m, k=k))
        assert abs(best - equations.optimal_hash_count(n=n, m=m)) <= 1
        k = equations.optimal_hash_count(n=n, m=m)
        assert printed.bloom_rate_minimal(n=n, m=m) == pytest.approx((1 - math.exp(-k * n / m)) ** k)


def test_equation_two_is_a_distribution():
    assert sum(printed.counter_probability(j=j, n=10, m=50, k=3) for j in range(31)) == pytest.approx(1)
    assert printed.counter_probability(j=31, n=10, m=50, k=3) == 0
    assert printed.counter_probability(j=3, n=1, m=1, k=3) == 1
    assert printed.counter_probability(j=2, n=1, m=1, k=3) == 0


def test_rate_that_minimizes_traffic():
    """Spec 3.4: one sending, 400 bytes per false match, as many questions as keys: 4.5·10⁻⁴."""
    rate = equations.optimal_rate_for_traffic(sends=1, bits_per_halving=1, n=100, queried=100, match_bytes=400)
    assert rate == pytest.approx(4.5e-4, rel=0.01)


def test_blocked_size_meets_its_rate():
    sized = BlockedBloomFilter.sized_for(10_000, 0.01)
    assert blocked_rate(10_000 / (sized.size_in_bits / 256)) <= 0.01
    assert blocked_rate(10_000 / (sized.size_in_bits / 256 - 2)) > 0.01


def test_fill_cap_refuses_all_ones_on_both_sides():
    for full in (BloomFilter(bit_count=64, hash_count=3), CountingBloomFilter(bit_count=64, hash_count=3)):
        full.add_many([f"k{i}" for i in range(500)])
        assert full.expected_false_positive_rate > FILL_CAP**3
        with pytest.raises(FilterError, match="fill cap"):
            full.to_bytes()
    blocked = BlockedBloomFilter(block_count=1)
    blocked.add_many([f"k{i}" for i in range(500)])
    with pytest.raises(FilterError, match="fill cap"):
        blocked.to_bytes()
    header = BloomFilter(bit_count=64, hash_count=3).to_bytes()[:16]
    with pytest.raises(FilterError, match="fill cap"):
        BloomFilter.from_bytes(header + b"\xff" * 8)
    header = CountingBloomFilter(bit_count=64, hash_count=3).to_bytes(counters=True)[:16]
    with pytest.raises(FilterError, match="fill cap"):
        CountingBloomFilter.from_bytes(header + b"\x11" * 32)


def test_counters_are_handed_over_whole():
    counting = CountingBloomFilter(bit_count=101, hash_count=4, seed=3, epoch=9)
    counting.add_many(["a", "b", "a"])
    received = CountingBloomFilter.from_bytes(counting.to_bytes(counters=True))
    assert received.counters.tolist() == counting.counters.tolist()
    assert (received.epoch, received.hasher, received.size_in_bits) == (9, counting.hasher, 101)
    assert BloomFilter.from_bytes(counting.to_bytes()).bits.tolist() == np.packbits(counting.counters != 0).tolist()
    for change in (lambda: received.add("c"), lambda: received.remove("a"), received.rebuild):
        with pytest.raises(FilterError, match="read only"):
            change()
    with pytest.raises(FilterError, match="no counters"):
        CountingBloomFilter.from_bytes(counting.to_bytes())


@pytest.mark.parametrize(("bit_count", "hash_count"), [(0, 1), (8, 0), (8, 65), (1 << 32, 1)])
def test_impossible_sizes_are_refused(bit_count, hash_count):
    with pytest.raises(FilterError):
        BloomFilter(bit_count=bit_count, hash_count=hash_count)


def test_impossible_rates_are_refused():
    for make in (BloomFilter, CountingBloomFilter, BlockedBloomFilter):
        for rate in (0, 1, -0.5):
            with pytest.raises(FilterError):
                make.sized_for(10, rate)
    with pytest.raises(FilterError):
        BlockedBloomFilter(block_count=0)
