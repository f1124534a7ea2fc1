"""The layered ribbon: vectors, the plain twin, layers, deltas, rebuilding; and its size against the floor."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins import ribbon as plain

from rookery.errors import FilterError, UnknownKeyError
from rookery.filters.hashing import DomainKey, KeyHasher, endpoint_key
from rookery.filters.ribbon import RibbonFilter, kernels
from rookery.filters.ribbon.snapshot import RibbonSnapshot


def topics(count: int, prefix: str = "T") -> list[str]:
    return [endpoint_key(kind="W", topic=f"{prefix}{i}", type_name="ShapeType") for i in range(1, count + 1)]


def integers(snapshot: RibbonSnapshot) -> list[int]:
    bits = snapshot.column_bits(snapshot.layers).reshape(snapshot.layers, snapshot.columns)
    return [int.from_bytes(np.packbits(column, bitorder="little").tobytes(), "little") for column in bits]


def test_vectors_of_the_layered_ribbon(golden):
    for case in golden("11_layered_ribbon")["cases"]:
        hashes = KeyHasher().many(topics(case["n"]))
        snapshot = RibbonSnapshot.build(hashes, layers=case["r"])
        assert (snapshot.columns, snapshot.seed) == (case["m"], case["seed"])
        expected = [int.from_bytes(bytes.fromhex(column), "little") for column in case["columns_hex"]]
        assert integers(snapshot) == expected
        assert plain.solve(hashes.tolist(), seed=case["seed"], columns=case["m"], layers=case["r"]) == expected
        size = (case["m"] + 7) // 8
        assert [column.to_bytes(size, "little").hex() for column in integers(snapshot)] == case["columns_hex"]
        absent = KeyHasher().many([f"absent{i}" for i in range(20_000)])
        for layers, measured in enumerate(case["fpr_by_layers"], 1):
            prefix = RibbonSnapshot.from_bits(
                snapshot.to_bits(layers), columns=case["m"], seed=case["seed"], layers=layers
            )
            rate = prefix.contains_hashes(absent).mean()
            assert abs(rate - measured) < 8 * (0.5**layers / 20_000) ** 0.5


@settings(max_examples=60)
@given(st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=150), st.integers(1, 9), st.integers(0, 30))
def test_kernels_agree_with_big_integers(hashes, layers, slack):
    array = np.array(hashes, np.uint64)
    columns = max(1, len(hashes) + slack)
    seed = int(kernels.find_seed(array, columns, 4))
    twins = [plain.solve(hashes, seed=attempt, columns=columns, layers=layers) for attempt in range(4)]
    solvable = [attempt for attempt, solution in enumerate(twins) if solution is not None]
    assert seed == (solvable[0] if solvable else -1)
    if seed < 0:
        return
    words = np.zeros(((columns + 63) // 64 + 1) * layers, np.uint64)
    kernels.solve(array, seed, columns, words, layers)
    snapshot = RibbonSnapshot(columns, seed, layers, words)
    assert integers(snapshot) == twins[seed]
    asked = [*hashes, *range(100)]
    expected = [plain.contains(twins[seed], value, seed=seed, columns=columns) for value in asked]
    assert snapshot.contains_hashes(np.array(asked, np.uint64)).tolist() == expected
    assert all(expected[: len(hashes)])


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65, 300])
def test_any_prefix_of_layers_is_a_valid_filter(count):
    keys = topics(count)
    owner = RibbonFilter(layers=9)
    owner.add_many(keys)
    absent = topics(4000, "absent")
    rates = []
    for layers in range(1, 10):
        received = RibbonFilter.from_bytes(owner.to_bytes(layers=layers))
        assert received.contains_many(keys).all()
        assert all(key in received for key in keys[:20])
        rates.append(received.contains_many(absent).mean())
        assert received.expected_false_positive_rate == (0.5**layers if count else 0)
    assert rates == sorted(rates, reverse=True)


def test_size_is_within_three_percent_of_the_floor():
    for count, most in ((10, 1.0), (50, 1.0), (100, 1.0), (500, 1.03), (1000, 1.03), (5000, 1.03), (20_000, 1.03)):
        owner = RibbonFilter(layers=7)
        owner.add_many(topics(count))
        per_halving = owner.size_in_bits / count / 7
        assert 1.0 <= per_halving <= most, count
        assert len(owner.to_bytes()) == 20 + (owner.size_in_bits + 7) // 8


def test_additions_travel_as_a_delta_and_a_delta_alone_joins_its_snapshot():
    owner = RibbonFilter(layers=7)
    owner.add_many(topics(1000))
    snapshot = RibbonFilter.from_bytes(owner.announce())
    columns = owner.snapshot
    owner.add_many(topics(20, "new"))
    assert owner.delta_count == 20
    assert all(key in owner for key in topics(20, "new"))
    delta = RibbonFilter.from_bytes(owner.delta_to_bytes())
    assert delta.base == snapshot.snapshot.identity
    assert len(owner.delta_to_bytes()) < 20 + 20 * 18 / 8
    joined = snapshot.with_delta(delta)
    whole = RibbonFilter.from_bytes(owner.announce())
    assert owner.snapshot is columns  # no new snapshot for two percent of additions
    for received in (joined, whole):
        assert received.contains_many(topics(1000)).all()
        assert received.contains_many(topics(20, "new")).all()
        assert received.delta_count == 20
    assert RibbonFilter.from_bytes(delta.to_bytes()).base == delta.base
    assert joined.contains_many(topics(300, "absent")).sum() < 15
    assert delta.contains_many(topics(20, "new")).all()
    other = RibbonFilter(layers=7)
    other.add_many(topics(999))
    with pytest.raises(FilterError, match="another snapshot"):
        RibbonFilter.from_bytes(other.announce()).with_delta(delta)


def test_one_added_endpoint_costs_about_seventeen_bits_at_a_thousand():
    owner = RibbonFilter(layers=7)
    owner.add_many(topics(1000))
    before = owner.size_in_bits
    owner.add("one more")
    assert owner.size_in_bits - before == 18  # 10 + 7 bits of prefix and the end of its empty quotient


def test_removal_waits_for_the_snapshot_that_encoding_makes():
    owner = RibbonFilter(layers=16)
    owner.add_many(topics(100))
    owner.rebuild()
    owner.remove(topics(100)[7])
    assert topics(100)[7] in owner
    assert all(key in owner for key in topics(100))
    received = RibbonFilter.from_bytes(owner.to_bytes())
    assert topics(100)[7] not in received
    assert received.snapshot.columns >= 99
    owner.add("x")
    owner.remove("x")
    assert "x" not in owner
    with pytest.raises(UnknownKeyError):
        owner.remove("x")


def test_a_key_that_comes_back_needs_no_delta():
    owner = RibbonFilter()
    owner.add_many(["a", "b"])
    owner.rebuild()
    snapshot = owner.snapshot
    owner.remove("a")
    owner.add("a")
    owner.to_bytes()
    assert owner.snapshot is snapshot
    assert owner.delta_count == 0


def test_references_count():
    owner = RibbonFilter(layers=12)
    owner.add("a")
    owner.add_many(["a", "b"])
    owner.remove("a")
    assert "a" in RibbonFilter.from_bytes(owner.to_bytes())
    owner.remove("a")
    assert "a" not in RibbonFilter.from_bytes(owner.to_bytes())


def test_as_many_layers_as_fit():
    owner = RibbonFilter(layers=12)
    owner.add_many(topics(1000))
    wire = owner.to_bytes(size_limit=1200)
    assert len(wire) <= 1200 < len(owner.to_bytes(layers=wire[3] + 1))
    assert RibbonFilter.from_bytes(wire).contains_many(topics(1000)).all()
    assert len(owner.announce(size_limit=1200)) == len(wire)
    with pytest.raises(FilterError, match="not even one layer"):
        owner.to_bytes(size_limit=100)
    with pytest.raises(FilterError, match="ask for 1"):
        owner.to_bytes(layers=13)


def test_keyed_ribbon_tells_an_outsider_nothing():
    domain_key = DomainKey.derive(bytes(range(16)), domain=7)
    owner = RibbonFilter(layers=10, domain_key=domain_key)
    owner.add_many(topics(200))
    wire = owner.to_bytes()
    assert RibbonFilter.from_bytes(wire, domain_key=domain_key).contains_many(topics(200)).all()
    other_domain = DomainKey.derive(bytes(range(16)), domain=8)
    assert RibbonFilter.from_bytes(wire, domain_key=other_domain).contains_many(topics(200)).sum() <= 5
    with pytest.raises(FilterError, match="domain_key"):
        RibbonFilter.from_bytes(wire)


def test_wrong_use_is_refused():
    for layers in (0, 33):
        with pytest.raises(FilterError):
            RibbonFilter(layers=layers)
    received = RibbonFilter.from_bytes(RibbonFilter().to_bytes())
    assert "a" not in received
    for change in (lambda: received.add("a"), lambda: received.remove("a"), received.rebuild, received.announce):
        with pytest.raises(FilterError, match="read only"):
            change()
