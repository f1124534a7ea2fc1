"""The verdict and the fit: small arithmetic with known answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.discovery.planning import PlannedEndpoint, PlannedParticipant, Topology, make_plan
from rookery.discovery.planning.traffic import (
    Multipliers,
    Parts,
    fit_parts,
    fit_totals,
    non_negative_least_squares,
)
from rookery.discovery.planning.verdict import in_words
from rookery.errors import TopologyError


def ring(participants: int, endpoints: int, *, dense: bool = False) -> Topology:
    members = []
    for number in range(participants):
        own, following = (0, 0) if dense else (number, (number + 1) % participants)
        ends = [PlannedEndpoint("W", f"rt/robot_{own}/data_{k}", "sensor::Type_") for k in range(endpoints)]
        ends += [PlannedEndpoint("R", f"rt/robot_{following}/data_{k}", "sensor::Type_") for k in range(endpoints)]
        members.append(PlannedParticipant(f"p{number}", tuple(ends)))
    return Topology("ring", tuple(members))


def test_one_participant_has_nobody_to_discover() -> None:
    plan = make_plan(ring(1, 5))
    assert plan.verdict.protocol == "simple"
    assert "nobody to discover" in plan.verdict.text
    assert plan.document()["protocols"]["ribbon"]["seconds"] == 0


def test_a_small_system_needs_no_change() -> None:
    plan = make_plan(ring(4, 5))
    assert plan.verdict.protocol == "simple"
    assert plan.verdict.text.startswith("No change is worth it: plain discovery costs")


def test_where_everything_is_needed_no_change_is_worth_it() -> None:
    plan = make_plan(ring(20, 20, dense=True))
    assert plan.views["unicast"].costs["simple"].octets > 1_000_000
    assert plan.verdict.protocol == "simple"
    assert "100 % of what is told is needed" in plan.verdict.text


def test_a_large_ring_is_told_to_change() -> None:
    plan = make_plan(ring(40, 20))
    best = plan.verdict.protocol
    costs = plan.views["unicast"].costs
    spoken = ("bloom", "tree", "cuckoo", "ribbon", "hashes")
    fewest = min(costs[name].octets for name in spoken)
    equal = [name for name in spoken if costs[name].octets <= 1.05 * fewest]
    assert best in equal
    assert costs[best].summary_octets == min(costs[name].summary_octets for name in equal)
    assert plan.verdict.text.startswith(f"Use {best}: it sends {in_words(costs[best].octets)} instead of")
    document = plan.document()
    assert document["recommended"] == best
    assert document["protocols"]["simple"]["saved_percent"] == 0
    assert document["protocols"][best]["saved_percent"] > 80
    assert set(document["protocols"]) == {"simple", *spoken, "server"}
    for row in document["protocols"].values():
        keys = {"packets", "bytes", "memory_per_node", "seconds", "false_contacts", "saved_percent"}
        assert keys <= set(row)
    assert document["protocols"]["simple"]["false_percent"] == 100  # everything that nobody needs is told
    needless = plan.views["unicast"].gating.records - plan.views["unicast"].gating.needed
    for name in spoken:
        row = document["protocols"][name]
        assert row["false_percent"] == pytest.approx(100 * row["false_contacts"] / needless, abs=1e-3)
        assert row["false_percent"] < 1


@given(st.lists(st.floats(0.1, 10), min_size=5, max_size=5), st.integers(0, 10**6))
@settings(max_examples=30)
def test_a_fit_finds_the_multipliers_that_made_the_runs(often: list[float], seed: int) -> None:
    dice = np.random.default_rng(seed)
    truth = Multipliers(*often)
    once = [Parts(*dice.uniform(1, 1_000, 5)) for _ in range(12)]
    totals = [(parts, truth.total(parts)) for parts in once]
    assert fit_totals(totals).row() == pytest.approx(often, rel=1e-6)
    measured = [(p, Parts(*(a * b for a, b in zip(often, p.row(), strict=True)))) for p in once]
    assert fit_parts(measured).row() == pytest.approx(often, rel=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=60)
def test_non_negative_least_squares_agrees_with_scipy(seed: int) -> None:
    optimize = pytest.importorskip("scipy.optimize")
    dice = np.random.default_rng(seed)
    matrix, target = dice.normal(size=(9, 4)), dice.normal(size=9)
    mine, (theirs, _) = non_negative_least_squares(matrix, target), optimize.nnls(matrix, target)
    assert (mine >= 0).all()
    assert mine == pytest.approx(theirs, abs=1e-8)


def test_a_fit_without_runs_is_refused() -> None:
    with pytest.raises(TopologyError, match="needs measured runs"):
        fit_totals([])
    with pytest.raises(TopologyError, match="needs measured runs"):
        fit_parts([(Parts(1, 1, 1, 1, 1), Parts(0, 0, 0, 0, 0))])


def test_sizes_in_words() -> None:
    assert [in_words(n) for n in (7, 1_500, 123_456, 2.5e6, 3e9)] == ["7 B", "1.5 kB", "123 kB", "2.5 MB", "3.0 GB"]
