"""The bank answers exactly what each filter by itself would answer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.filters import BloomFilter, FilterBank, ObserverFilter, RibbonFilter, from_bytes, summarize

NAMES = [f"topic/{i}" for i in range(40)]


def summary(structure: str, keys: list[str], seed: int):
    if structure == "observer":
        return ObserverFilter()
    if structure == "one size":
        bloom = BloomFilter(bit_count=64, hash_count=3, seed=seed)
        bloom.add_many(keys)
        return bloom
    if structure == "delta":
        ribbon = RibbonFilter(layers=5, seed=seed)
        ribbon.add_many([*keys, *(f"more{i}" for i in range(16))])
        ribbon.rebuild()
        ribbon.add("late")
        return from_bytes(ribbon.to_bytes())
    # At this rate no draw of a few keys is over the fill cap; at 0.05 two keys may set 10 of 13 bits.
    return from_bytes(summarize(keys, structure, 0.01, seed=seed).to_bytes())


STRUCTURES = ["one size", "delta", "observer", "ribbon", "golomb", "cuckoo", "bloom", "tree"]
steps = st.lists(
    st.tuples(
        st.integers(0, 12),
        st.sampled_from([*STRUCTURES, "discard"]),
        st.lists(st.sampled_from(NAMES), max_size=6),
        st.integers(0, 1),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_bank_equals_asking_each(drawn):
    bank, twin = FilterBank(), {}
    for participant, structure, keys, seed in drawn:
        if structure == "discard":
            bank.discard(participant)
            twin.pop(participant, None)
        else:
            twin[participant] = summary(structure, keys, seed)
            bank.put(participant, twin[participant])
        assert len(bank) == len(twin)
    for key in [*NAMES[:12], "late", "absent"]:
        matched = bank.matching(key)
        assert len(matched) == len(set(matched))
        assert set(matched) == {participant for participant, held in twin.items() if key in held}
    assert all(participant in bank for participant in twin)


@pytest.mark.parametrize("structure", ["one size", "ribbon"])
def test_a_thousand_participants(structure):
    bank, twin = FilterBank(), {}
    for participant in range(1000):
        twin[participant] = summary(structure, [NAMES[participant % 40], NAMES[participant % 7]], 0)
        bank.put(participant, twin[participant])
    for participant in range(0, 1000, 3):
        bank.discard(participant)
        del twin[participant]
    for key in NAMES[:10]:
        expected = {participant for participant, held in twin.items() if key in held}
        assert set(bank.matching(key)) == expected
        assert {p for p in twin if NAMES[p % 40] == key or NAMES[p % 7] == key} <= expected


def test_slices_name_their_seats():
    bank = FilterBank()
    bloom = BloomFilter(bit_count=64, hash_count=3)
    bloom.add("a")
    bank.put("p", bloom)
    [(seats, words)] = bank.matching_slices(bloom.hasher("a"))
    assert seats[0] == "p"
    assert int(words[0]) & 1
