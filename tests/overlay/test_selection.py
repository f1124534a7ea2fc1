"""Three ways to the same table: the printed scan with its reset, the incremental form, and all peers at once."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.overlay.bulk import exact_tables
from rookery.overlay.identity import CIRCLE, Descriptor, Relation, SemanticSpace, clockwise, relation
from rookery.overlay.links import LinkTable
from rookery.overlay.selection import Rule, Selection, select

CELLS = 12
SPACE = SemanticSpace(cell_count=CELLS)


def describe(node: int, random_id: int, cells: frozenset[int], epoch: int = 0) -> Descriptor:
    return SPACE.describe(node=node, random_id=random_id, cells=cells, epoch=epoch)


@st.composite
def populations(draw: st.DrawFn, largest: int = 14) -> list[Descriptor]:
    """Peers with distinct cell sets (one each: equal ones would be a cluster); random IDs may collide."""
    wanted = draw(
        st.lists(st.frozensets(st.integers(0, CELLS - 1), max_size=5), min_size=1, max_size=largest, unique=True)
    )
    places = draw(st.lists(st.integers(0, 40), min_size=len(wanted), max_size=len(wanted)))
    return [describe(node, place << 58, cells) for node, (place, cells) in enumerate(zip(places, wanted, strict=True))]


def chosen_by(table: LinkTable) -> Selection:
    covered, neighbors = set(), set()
    for cell in table.own.cells:
        covered |= {table.after(Relation.COVERED, cell), table.before(Relation.COVERED, cell)} - {None}
        neighbors |= {table.after(Relation.NEIGHBOR, cell), table.before(Relation.NEIGHBOR, cell)} - {None}
    return Selection(tuple(table.parents), frozenset(covered), frozenset(neighbors))


@given(populations(), st.randoms(use_true_random=False))
def test_the_incremental_form_selects_what_the_printed_scan_selects(
    peers: list[Descriptor], dice: random.Random
) -> None:
    own, others = peers[0], peers[1:]
    dice.shuffle(others)
    table = LinkTable(own)
    for other in others:
        table.consider(other)
    assert chosen_by(table) == select(own, others, Rule.sound())
    assert table.chosen == select(own, others, Rule.sound()).chosen


@given(populations(), st.data())
def test_what_is_forgotten_is_replaced_by_what_is_still_known(peers: list[Descriptor], data: st.DataObject) -> None:
    own, others = peers[0], peers[1:]
    table = LinkTable(own)
    for other in others:
        table.consider(other)
        table.admit(other)  # whoever chose us stays known, so nothing here is lost
    gone = data.draw(st.sets(st.sampled_from([other.node for other in others]))) if others else set()
    for node in gone:
        assert table.forget(node)
        assert not table.forget(node)
    left = [other for other in others if other.node not in gone]
    assert chosen_by(table) == select(own, left, Rule.sound())


@given(populations())
def test_all_at_once_equals_one_by_one(peers: list[Descriptor]) -> None:
    tables = exact_tables(peers, shared_cell=SPACE.shared_cell)
    for peer in peers:
        expected = select(peer, peers, Rule.sound())
        assert chosen_by(tables[peer.node]) == expected
        assert len(expected.chosen) <= 4 * len(peer.cells) + 1  # I5
        for node in expected.chosen:  # I4
            assert peer.node in tables[node].incoming
    for table in tables.values():
        assert all(table.own.node in tables[node].chosen for node in table.incoming)


@given(populations(), st.integers(0, 3))
def test_a_window_keeps_the_rings_exact(peers: list[Descriptor], window: int) -> None:
    tables = exact_tables(peers, shared_cell=SPACE.shared_cell, window=window + 1)
    check_rings(tables)


def check_rings(tables: dict[int, LinkTable]) -> None:
    """Who is next and who is before on every ring, of any class, is who stands there."""
    everyone = [table.own for table in tables.values()]
    for table in tables.values():
        for cell in table.own.cells:
            ring = [one for one in everyone if cell in one.cells and one.node != table.own.node]
            if not ring:
                assert table.ring_next(cell) is None
                continue
            following = min(ring, key=lambda one: clockwise(table.own, one))
            previous = min(ring, key=lambda one: clockwise(one, table.own))
            assert (table.ring_next(cell), table.ring_before(cell)) == (following, previous)


@given(populations())
def test_every_audience_is_connected(peers: list[Descriptor]) -> None:
    """The theorem of static delivery, by search."""
    tables = exact_tables(peers, shared_cell=SPACE.shared_cell)
    check_rings(tables)
    for cell in range(CELLS + 1):
        audience = {peer.node for peer in peers if cell in peer.cells}
        if audience:
            reached, waiting = set(), [min(audience)]
            while waiting:
                node = waiting.pop()
                if node not in reached:
                    reached.add(node)
                    waiting += tables[node].holders(cell)
            assert reached == audience


@given(populations(largest=5))
def test_covers_is_a_strict_order_and_implies_subsumption(peers: list[Descriptor]) -> None:
    for one in peers:
        assert relation(one.cells, one.cells) is Relation.SAME
        assert SPACE.is_sound(one)  # I1
        for other in peers:
            if relation(one.cells, other.cells) is Relation.COVERED:
                assert relation(other.cells, one.cells) is Relation.COVERING
                assert one.bits & other.bits == other.bits
                for third in peers:
                    if relation(other.cells, third.cells) is Relation.COVERED:
                        assert relation(one.cells, third.cells) is Relation.COVERED


def test_without_the_reset_the_second_pass_does_nothing() -> None:
    own = describe(0, 0, frozenset({1}))
    ring = [describe(node, node << 60, frozenset({1, node + 1})) for node in (1, 2, 3)]
    assert select(own, ring, Rule.sound()).covering == (1,)
    neighbors = [describe(node, node << 60, frozenset({node + 1})) for node in (1, 2, 3)]  # share c0 alone
    assert select(own, neighbors, Rule.sound()).neighbors == {1, 3}
    assert select(own, neighbors, Rule(reset=False)).neighbors == {1}


def test_a_newer_epoch_replaces_and_an_older_one_is_stale() -> None:
    table = LinkTable(describe(0, 0, frozenset({1, 2})))
    assert table.consider(describe(1, 1 << 60, frozenset({1, 3}), epoch=1))
    assert not table.consider(describe(1, 1 << 60, frozenset({2, 3}), epoch=0))
    assert table.ring_next(2) is None
    assert table.consider(describe(1, 1 << 60, frozenset({2, 3}), epoch=2))
    assert (table.ring_next(1), table.ring_next(2).node) == (None, 1)  # type: ignore[union-attr]


def test_ties_on_the_circle_are_broken_by_the_node() -> None:
    one, other = describe(1, 7, frozenset({1})), describe(2, 7, frozenset({2}))
    assert clockwise(one, other) == 1
    assert clockwise(other, one) == CIRCLE - 1


@pytest.mark.slow
@settings(max_examples=3000)
@given(populations(largest=40))
def test_all_at_once_equals_one_by_one_at_length(peers: list[Descriptor]) -> None:
    tables = exact_tables(peers, shared_cell=SPACE.shared_cell)
    for peer in peers:
        assert chosen_by(tables[peer.node]) == select(peer, peers, Rule.sound())
