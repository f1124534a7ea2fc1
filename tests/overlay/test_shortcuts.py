"""Shortcuts inside the rings: who they are, what they do to the depth, and that arcs stay exactly-once with them."""

from __future__ import annotations

import random
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.overlay.configuration import SECOND, OverlayConfiguration
from rookery.overlay.identity import Descriptor, SemanticSpace, clockwise
from rookery.overlay.shortcuts import Shortcuts, distance_class
from rookery.overlay.state import Phase
from rookery.papers.seed_002.workload import StockMarket
from rookery.simulated.overlay import SimulatedOverlay

SPACE = SemanticSpace(cell_count=8)

peers = st.builds(
    lambda place, cells, bits: (place << (64 - bits) | 1, cells),
    st.integers(0, 63),
    st.frozensets(st.integers(0, 7), max_size=4),
    st.integers(6, 20),
)


def described(drawn: list[tuple[int, frozenset[int]]]) -> list[Descriptor]:
    return [SPACE.describe(node=node, random_id=place, cells=cells) for node, (place, cells) in enumerate(drawn)]


@given(st.lists(peers, min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_each_place_is_held_by_who_shares_most(drawn: list[tuple[int, frozenset[int]]], dice: random.Random) -> None:
    """The oracle: of all holders of the cell in the distance class, most shared cells, then nearest."""
    own, *others = described(drawn)
    shortcuts = Shortcuts(own, shared_cell=SPACE.shared_cell)
    for other in dice.sample(others, len(others)):
        shortcuts.consider(other)
    serving = set()
    for kind in range(64):
        for cell in own.cells - {SPACE.shared_cell}:
            able = [one for one in others if cell in one.cells and distance_class(clockwise(own, one)) == kind]
            best = max(able, key=lambda one: (len(one.cells & own.cells), -clockwise(own, one)), default=None)
            assert shortcuts.at(kind, cell) == (None if best is None else best.node)
            serving.update([] if best is None else [best.node])
    assert set(shortcuts.known) == serving


@given(st.lists(peers, min_size=2, max_size=30), st.integers(0, 5))
def test_forgetting_and_trimming_leave_no_trace(drawn: list[tuple[int, frozenset[int]]], room: int) -> None:
    own, *others = described(drawn)
    shortcuts = Shortcuts(own, shared_cell=SPACE.shared_cell)
    for other in others:
        shortcuts.consider(other)
    shortcuts.trim(room)
    assert len(shortcuts) <= room
    for one in list(shortcuts):
        shortcuts.remove(one.node)
    assert not len(shortcuts)
    assert all(shortcuts.at(kind, cell) is None for kind in range(64) for cell in range(8))


def crowded(count: int, *, arc: bool = True) -> tuple[SimulatedOverlay, StockMarket]:
    """Many peers on few cells: rings of a third of all peers."""
    market = StockMarket(stocks=4, buckets=16)
    overlay = SimulatedOverlay(
        seed=3,
        space=SemanticSpace(cell_count=market.cell_count),
        configuration=OverlayConfiguration(heartbeat=None, arc=arc),
    )
    dice = random.Random(3)
    overlay.install([market.draw_interests(dice) for _ in range(count)], window=12)
    return overlay, market


def deepest(overlay: SimulatedOverlay, market: StockMarket) -> float:
    dice, found = random.Random(4), 0
    for _ in range(20):
        quote = market.draw_quote(dice)
        event = overlay.publish(dice.choice(overlay.ready), quote)
        overlay.settle()
        assert set(overlay.deliveries[event]) == overlay.audience(quote)
        found = max(found, *overlay.deliveries[event].values())
    assert overlay.counters["duplicate"] == overlay.repeated == overlay.counters["arc extended"] == 0
    return found


def test_rings_of_hundreds_are_logarithmic_only_with_shortcuts() -> None:
    overlay, market = crowded(1500)
    primaries = [peer.state for peer in overlay if peer.state.phase is Phase.ACTIVE]
    ring = max(sum(cell in state.own.cells for state in primaries) for cell in range(market.cell_count))
    assert ring > 200
    assert deepest(overlay, market) <= 2.5 * log2(ring)
    for state in primaries:
        assert len(state.table.chosen | set(state.shortcuts.known)) <= 4 * len(state.own.cells) + 1
        state.shortcuts.trim(0)
    assert deepest(overlay, market) > 4 * log2(ring)


@pytest.mark.parametrize("seed", range(12))
def test_an_arc_comes_back_from_who_wants_the_cell_no_longer(seed: int) -> None:
    """Half of those whom the publisher knows have changed their mind, and it has not heard of that yet."""
    overlay, market = crowded(200)
    dice = random.Random(seed)
    quote = (1, 7.5)
    holders = [node for node in overlay.ready if overlay.peers[node].state.phase is Phase.ACTIVE]
    source = dice.choice([node for node in holders if market.cell(quote) in overlay.peers[node].descriptor.cells])
    shortcuts = overlay.peers[source].state.shortcuts
    known = dict(shortcuts.known)
    moved = [node for node in known if market.cell(quote) in known[node].cells][::2]
    for node in moved:
        overlay.subscribe(node, market.interests([(3, 1.0, 1.4)]))
    overlay.run(5 * SECOND)
    shortcuts.trim(0)  # what it may have heard meanwhile is as if it had not
    for one in known.values():
        shortcuts.consider(one)
    event = overlay.publish(source, quote)
    overlay.run(10 * SECOND)
    assert set(overlay.deliveries[event]) == overlay.audience(quote)
    assert overlay.messages["Returned"] > 0
    assert overlay.repeated == 0


def test_shortcuts_are_learned_while_joining() -> None:
    market, dice = StockMarket(stocks=2, buckets=8), random.Random(0)
    overlay = SimulatedOverlay(
        seed=0,
        space=SemanticSpace(cell_count=market.cell_count),
        configuration=OverlayConfiguration(heartbeat=None, arc=True),
    )
    for _ in range(150):
        overlay.join(market.draw_interests(dice))
        overlay.settle()
    states = [peer.state for peer in overlay if peer.state.phase is Phase.ACTIVE]
    assert sum(len(state.shortcuts) for state in states) > 2 * len(states)
    assert deepest(overlay, market) <= 12
