"""Measured false-positive rates against the exact rate given the contents: within four standard errors.

Each line is deterministic: fixed keys, fixed questions. A failure is a wrong formula or a bad hash, not bad luck.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from tests.twins.cuckoo import mean_rate

from rookery.filters import (
    STRUCTURES,
    BloomFilter,
    BloomTree,
    CuckooFilter,
    GolombSet,
    RibbonFilter,
    from_bytes,
    summarize,
)
from rookery.filters.bloom.exact import floor_patterns
from rookery.papers.seed_000.equations import bloom_rate

QUESTIONS = 400_000


@pytest.fixture(scope="module")
def absent() -> pa.Array:
    return pa.array([f"R\x1fabsent/{i}\x1fK" for i in range(QUESTIONS)])


def topics(count: int) -> pa.Array:
    return pa.array([f"W\x1fpresent/{i}\x1fK" for i in range(count)])


def within_four_standard_errors(measured: float, exact: float, questions: int = QUESTIONS) -> bool:
    return abs(measured - exact) <= 4 * math.sqrt(exact * (1 - exact) / questions)


SIZES = [(structure, count) for structure in STRUCTURES for count in (1000, 5000)]
SIZES.remove(("tree", 5000))  # the exact rate of a thousand nodes takes seconds, and a thousand keys show the same


@pytest.mark.parametrize(("structure", "count"), SIZES)
@pytest.mark.parametrize("rate", [0.03, 0.01])
def test_every_structure(structure, count, rate, absent):
    made = summarize(topics(count), structure, rate)
    exact = made.expected_false_positive_rate
    assert exact < 1.3 * rate
    assert within_four_standard_errors(made.contains_many(absent).mean(), exact)
    received = from_bytes(made.to_bytes())
    assert received.expected_false_positive_rate == pytest.approx(exact)


@pytest.mark.parametrize("load", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.79])
def test_patent_table_at_every_load(load, absent):
    """The flag bit halves what eight bits promise: 1 − (127/128)^(4·load), on average over tables (spec 0.4)."""
    owner = CuckooFilter.patent(log2_buckets=12)
    owner.add_many(topics(int(load * 8192)))
    exact = owner.expected_false_positive_rate
    assert within_four_standard_errors(owner.contains_many(absent).mean(), exact)
    assert exact == pytest.approx(mean_rate(load=load), rel=0.05)


def test_two_filters_of_one_announcement(absent):
    owner = CuckooFilter.patent(log2_buckets=10)
    for key in topics(1639).to_pylist():
        owner.add(key)
    owner.migrate(700)
    assert owner.is_migrating
    new, old = owner.tables
    exact = owner.expected_false_positive_rate
    assert exact == pytest.approx(1 - (1 - new.expected_false_positive_rate) * (1 - old.expected_false_positive_rate))
    # A fingerprint asks both tables, so the two are not quite independent; the product is within a few percent.
    measured = owner.contains_many(absent).mean()
    assert abs(measured - exact) <= 4 * math.sqrt(exact / QUESTIONS) + 0.05 * exact


def test_each_layer_halves_the_rate(absent):
    owner = RibbonFilter(layers=12)
    owner.add_many(topics(500))
    owner.rebuild()
    for layers in range(1, 13):
        received = from_bytes(owner.to_bytes(layers=layers))
        assert within_four_standard_errors(received.contains_many(absent).mean(), 0.5**layers)


def test_delta_adds_its_own_rate(absent):
    owner = RibbonFilter(layers=6)
    owner.add_many(topics(800))
    owner.rebuild()
    owner.add_many([f"late{i}" for i in range(100)])
    received = from_bytes(owner.to_bytes())
    assert received.delta_count == 100
    exact = received.expected_false_positive_rate
    assert exact > 2**-6
    assert within_four_standard_errors(received.contains_many(absent).mean(), exact)


def test_golomb_layers(absent):
    owner = GolombSet(remainder_bits=10)
    owner.add_many(topics(700))
    for kept in range(1, 11):
        received = from_bytes(owner.to_bytes(remainder_bits=kept))
        assert within_four_standard_errors(received.contains_many(absent).mean(), received.expected_false_positive_rate)


def test_node_and_positions_are_not_correlated(absent):
    """The node comes from a mixed hash; taken from the hash itself the rate would be several times larger."""
    tree = BloomTree.sized_for(2000, 0.03)
    tree.add_many(topics(2000))
    exact = tree.expected_false_positive_rate
    assert within_four_standard_errors(tree.contains_many(absent).mean(), exact)


@pytest.mark.parametrize(("count", "bit_count", "hash_count"), [(2, 10, 2), (4, 117, 5), (16, 117, 5), (60, 575, 7)])
def test_double_hashing_is_counted_exactly_in_small_filters(count, bit_count, hash_count, absent):
    """A progression near a stored one hits all its bits: (ones/m)^k is too small, by a factor of eight at 4 in 117."""
    bloom = BloomFilter(bit_count=bit_count, hash_count=hash_count)
    bloom.add_many(topics(count))
    exact = bloom.expected_false_positive_rate
    assert within_four_standard_errors(bloom.contains_many(absent).mean(), exact)
    assert exact >= (np.bitwise_count(bloom.bits).sum() / bit_count) ** hash_count - 1e-12


@pytest.mark.parametrize("hash_count", range(1, 9))
def test_floor_patterns_tile_the_unit_square(hash_count):
    shifts, areas = floor_patterns(hash_count)
    assert areas.sum() == pytest.approx(1)
    dice = np.random.default_rng(hash_count)
    u, v = dice.random(50_000), dice.random(50_000)
    seen = np.floor(u[:, None] + v[:, None] * np.arange(hash_count)).astype(int)
    for pattern in np.unique(shifts, axis=0):
        area = areas[(shifts == pattern).all(axis=1)].sum()
        assert abs((seen == pattern).all(axis=1).mean() - area) < 5 * math.sqrt(area / 50_000)


def test_equation_one_predicts_the_mean_over_filters():
    rates = []
    for seed in range(40):
        bloom = BloomFilter(bit_count=959, hash_count=7, seed=seed)
        bloom.add_many(topics(100))
        rates.append((np.bitwise_count(bloom.bits).sum() / 959) ** 7)
    assert np.mean(rates) == pytest.approx(bloom_rate(n=100, m=959, k=7), rel=0.1)
