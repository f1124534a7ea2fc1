"""What the tables of an overlay at rest must be: invariants I1 to I5 and I8, against brute force over the living."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from rookery.overlay.identity import Descriptor, Relation, clockwise, relation
from rookery.overlay.links import LinkTable
from rookery.overlay.state import Phase
from rookery.simulated.overlay import SimulatedOverlay


def check_quiet_tables(overlay: SimulatedOverlay) -> None:
    """I1 to I5 and I8 for an overlay at rest."""
    everyone = list(overlay)
    assert all(peer.is_ready for peer in everyone)
    primaries = [peer for peer in everyone if peer.state.phase is Phase.ACTIVE]
    by_cells = defaultdict(list)
    for peer in primaries:
        by_cells[peer.descriptor.cells].append(peer)
        assert overlay.space.is_sound(peer.descriptor)  # I1
        assert peer.descriptor.cells == peer.state.interests.cells | {overlay.space.shared_cell}
    assert all(len(speakers) == 1 for speakers in by_cells.values())  # I8: one primary
    for peer in everyone:
        if peer.state.phase is Phase.MEMBER:
            (primary,) = by_cells[peer.state.self_descriptor.cells]
            assert peer.state.primary is not None
            assert peer.state.primary.node == primary.node
            names = [one.node for one in primary.state.members]
            assert names.count(peer.node) == 1
            assert [one.node for one in peer.state.members] == names  # I8: one order
    assert sum(1 + len(peer.state.members) for peer in primaries) == len(everyone)
    check_order([peer.descriptor for peer in primaries])
    alive = {peer.node: peer for peer in primaries}
    for peer in primaries:
        check_table(overlay, peer.state.table, alive)


def check_order(primaries: list[Descriptor]) -> None:
    """I2: covering is a strict order (of cells, so it is transitive), and an identity contains those it covers."""
    opposite = {Relation.COVERED: Relation.COVERING, Relation.COVERING: Relation.COVERED}
    for one in primaries:
        assert relation(one.cells, one.cells) is Relation.SAME
        for other in primaries:
            kind = relation(one.cells, other.cells)
            assert relation(other.cells, one.cells) is opposite.get(kind, kind)
            assert (kind is Relation.COVERED) == (other.cells < one.cells)
            if kind is Relation.COVERED:
                assert other.bits & ~one.bits == 0


def check_table(overlay: SimulatedOverlay, table: Any, alive: dict[int, Any]) -> None:
    assert isinstance(table, LinkTable)
    own = table.own
    others = [peer.descriptor for peer in alive.values() if peer.node != own.node]
    assert len(table.chosen) <= 4 * len(own.cells) + 1  # I5
    shortcuts = alive[own.node].state.shortcuts
    assert not len(shortcuts) or len(table.chosen) + len(shortcuts) <= 4 * len(own.cells) + 1
    for node, other in table.known.items():
        assert node in alive, "a link to who is gone"
        assert other == alive[node].descriptor
    for node in table.chosen:
        assert own.node in alive[node].state.table.incoming  # I4
    for node in table.incoming:
        assert own.node in alive[node].state.table.chosen
    for cell in own.cells:  # I3: the rings are those of the oracle, and each class holds its nearest among those known
        ring = [one for one in others if cell in one.cells]
        assert table.ring_next(cell) == min(ring, key=lambda one: clockwise(own, one), default=None)
        assert table.ring_before(cell) == min(ring, key=lambda one: clockwise(one, own), default=None)
        for kind in (Relation.COVERED, Relation.NEIGHBOR):
            known = [
                one for one in table.known.values() if cell in one.cells and relation(own.cells, one.cells) is kind
            ]
            nearest = min(known, key=lambda one: clockwise(own, one), default=None)
            assert table.after(kind, cell) == (None if nearest is None else nearest.node)
            nearest = min(known, key=lambda one: clockwise(one, own), default=None)
            assert table.before(kind, cell) == (None if nearest is None else nearest.node)
