"""No false negative, ever: every structure against a `dict`, through everything that can happen to it.

One machine per structure: insert, bulk insert, delete, grow, migrate, rebuild, encode, decode. After each step every
present key matches, at the owner and at whoever decoded the last announcement. `--slow` adds ten million keys.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rookery.errors import FilterError, UnknownKeyError
from rookery.filters import (
    BlockedBloomFilter,
    BloomFilter,
    BloomTree,
    CountingBloomFilter,
    CuckooFilter,
    DeletableFilter,
    DomainKey,
    GolombSet,
    RibbonFilter,
    from_bytes,
    summarize,
)

NAMES = [f"W\x1ft{i}\x1fT" for i in range(60)]
DOMAIN_KEY = DomainKey.derive(bytes(range(16)))

#: Small on purpose: tables double, counters stick, rows overflow and values collide within a few steps.
MAKERS = {
    "bloom": lambda **rest: BloomFilter(bit_count=700, hash_count=3, **rest),
    "blocked": lambda **rest: BlockedBloomFilter(block_count=4, **rest),
    "counting": lambda **rest: CountingBloomFilter(bit_count=300, hash_count=2, **rest),
    "tree": lambda **rest: BloomTree(namespace_size=60, node_size=4, bit_count=40, hash_count=2, **rest),
    "tree, one row": lambda **rest: BloomTree(namespace_size=60, bit_count=400, row_capacity=0, **rest),
    "tree, paper wire": lambda **rest: BloomTree(namespace_size=60, bit_count=60, mode="paper", **rest),
    "cuckoo": lambda **rest: CuckooFilter(log2_buckets=1, **rest),
    "cuckoo, patent": lambda seed, **_: CuckooFilter.patent(log2_buckets=1, seed=seed),
    "cuckoo, never moving": lambda **rest: CuckooFilter(log2_buckets=1, slot_bits=9, moves_per_announcement=0, **rest),
    "ribbon": lambda **rest: RibbonFilter(layers=4, **rest),
    "golomb": lambda **rest: GolombSet(remainder_bits=2, **rest),
}


class Owner(RuleBasedStateMachine):
    """One owner, its `dict`, and the last announcement as a receiver holds it."""

    structure = "bloom"

    @initialize(seed=st.sampled_from([0, 7]), keyed=st.booleans())
    def make(self, seed, keyed):
        self.domain_key = DOMAIN_KEY if keyed else None
        self.filter = MAKERS[self.structure](seed=seed, domain_key=self.domain_key)
        self.model: dict[str, int] = {}
        self.received, self.announced = None, set()

    @rule(key=st.sampled_from(NAMES))
    def add(self, key):
        self.filter.add(key)
        self.model[key] = self.model.get(key, 0) + 1

    @rule(keys=st.lists(st.sampled_from(NAMES), max_size=25))
    def add_many(self, keys):
        self.filter.add_many(pa.array(keys, pa.string()))
        for key in keys:
            self.model[key] = self.model.get(key, 0) + 1

    @precondition(lambda self: isinstance(self.filter, DeletableFilter))
    @rule(key=st.sampled_from(NAMES))
    def remove(self, key):
        if key not in self.model:
            with pytest.raises(UnknownKeyError):
                self.filter.remove(key)
            return
        self.filter.remove(key)
        self.model[key] -= 1
        if not self.model[key]:
            del self.model[key]

    @precondition(lambda self: hasattr(self.filter, "announce"))
    @rule(times=st.integers(1, 20))
    def announce(self, times):
        for _ in range(times):
            self._receive(self.filter.announce())

    @precondition(lambda self: hasattr(self.filter, "migrate"))
    @rule(moves=st.integers(0, 9))
    def migrate(self, moves):
        self.filter.migrate(moves)

    @precondition(lambda self: hasattr(self.filter, "rebuild"))
    @rule()
    def rebuild(self):
        self.filter.rebuild()

    @rule()
    def encode_and_decode(self):
        self._receive(self.filter.to_bytes())

    @precondition(lambda self: self.structure == "ribbon")
    @rule(layers=st.integers(1, 4))
    def send_some_layers(self, layers):
        self._receive(self.filter.to_bytes(layers=layers))

    @precondition(lambda self: self.structure == "ribbon" and self.received is not None)
    @rule()
    def send_the_delta_alone(self):
        delta = from_bytes(self.filter.delta_to_bytes(), domain_key=self.domain_key)
        try:
            self.received = self.received.with_delta(delta)
        except FilterError:
            return  # the owner has solved another snapshot since
        self.announced = set(self.model)

    def _receive(self, wire):
        self.received = from_bytes(wire, domain_key=self.domain_key)
        self.announced = set(self.model)

    @invariant()
    def owner_has_every_key(self):
        if hasattr(self, "model"):
            assert all(key in self.filter for key in self.model)
            assert self.filter.contains_many(list(self.model)).all()

    @invariant()
    def receiver_has_every_announced_key(self):
        if getattr(self, "received", None) is not None:
            assert all(key in self.received for key in self.announced)
            assert self.received.contains_many(list(self.announced)).all()


@pytest.mark.parametrize("structure", MAKERS)
def test_against_a_dict(structure):
    machine = type("OwnerOf", (Owner,), {"structure": structure})
    case = machine.TestCase
    case.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
    case().runTest()


def numbered(count: int, start: int = 0) -> pa.Array:
    numbers = pa.array(np.arange(start, start + count)).cast(pa.string())
    return pa.compute.binary_join_element_wise("W\x1ffleet/", numbers, "\x1fT", "")


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("structure", ["bloom", "blocked", "counting", "cuckoo", "golomb"])
def test_ten_million_keys_in_one_filter(structure):
    import pyarrow.compute  # noqa: F401

    keys = numbered(10_000_000)
    made = summarize(keys[:0], structure)
    made = type(made).sized_for(len(keys), 0.01)
    for start in range(0, len(keys), 1_000_000):
        made.add_many(keys[start : start + 1_000_000])
    received = from_bytes(made.to_bytes())
    assert made.contains_many(keys).all()
    assert received.contains_many(keys).all()
    assert received.contains_many(numbered(1_000_000, 20_000_000)).mean() < 0.02


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    ("structure", "filters", "each"), [("ribbon", 1, 10_000_000), ("ribbon", 2000, 5000), ("tree", 100, 1000)]
)
def test_keys_over_many_filters(structure, filters, each):
    import pyarrow.compute  # noqa: F401

    for number in range(filters):
        keys = numbered(each, number * each)
        made = summarize(keys, structure)
        assert made.contains_many(keys).all()
        assert from_bytes(made.to_bytes()).contains_many(keys).all()
