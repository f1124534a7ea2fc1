"""What two ends of a link say to each other: LINK, UNLINK, corrections, and hubs that redirect (spec 2.3 and 2.5).

Rule 1: who chooses a peer says so, and who stops says so: `chosen` at one end is `incoming` at the other (I4).
Rule 2: who is told of a link but stands nobody next to the other on some ring that they share answers with who does.
Rule 3: a covering link is not needed for delivery, so a parent with too many children may send one on to a child that
covers it too. Links of a ring are never refused.
"""

from __future__ import annotations

from rookery.overlay import cluster
from rookery.overlay.identity import Descriptor, Relation, hamming, relation
from rookery.overlay.links import LinkTable
from rookery.overlay.messages import Leave, LinkCorrection, LinkRequest, Redirect, Unlink
from rookery.overlay.ring import adopt_copies, around, hand_over
from rookery.overlay.state import PeerState, Phase

__all__ = ["receive_correction", "receive_link", "receive_redirect", "receive_unlink", "watch_predecessor"]


def receive_link(state: PeerState, now: int, link: LinkRequest) -> None:
    """Someone links to us: consider it, remember it, and correct it where it is wrong about a ring."""
    peer = link.own
    state.tombstones.pop(peer.node, None)
    state.heard[peer.node] = now
    state.sent_tables.pop(peer.node, None)
    if state.phase is Phase.JOINING:
        state.learn((peer,), now)
        state.heard[peer.node] = now
        if link.chosen:
            state.table.admit(peer)
        return
    if state.phase is not Phase.ACTIVE:
        state.send(peer.node, Leave(()))  # we stand on no ring any more
        return
    if state.is_twin(peer):
        cluster.meet(state, now, peer)
        return
    if link.parent_only and (child := _child_for(state, peer)) is not None:
        state.send(peer.node, Redirect(child))
        return
    state.learn((peer,), now)
    state.heard[peer.node] = now
    if link.chosen:
        state.table.admit(peer)
    else:
        state.table.dismiss(peer.node)
    if state.configuration.directory:
        near = _corrections(state, peer, link.adjacent)
        if near:
            state.send(peer.node, LinkCorrection(near))
    watch_predecessor(state, now)


def _corrections(state: PeerState, peer: Descriptor, cells: frozenset[int]) -> tuple[Descriptor, ...]:
    """Return who stands next to the other on those of the rings where it is not next to us."""
    table = state.table
    found: dict[int, Descriptor] = {}
    for cell in (table.own.cells & cells) - table.adjacent(peer.node) if peer.node in table.known else cells:
        for one in around(state, cell, peer.position, but=peer.node):
            if one.node != table.own.node:
                found[one.node] = one
    return tuple(found.values())


def _child_for(state: PeerState, peer: Descriptor) -> Descriptor | None:
    """Return a child that covers the other too, if we have more children than we take."""
    table = state.table
    if not isinstance(table, LinkTable) or peer.node in table.incoming:
        return None
    kinds = [(node, relation(table.own.cells, table.known[node].cells)) for node in table.incoming]
    children = [table.known[node] for node, kind in kinds if kind is Relation.COVERED]
    if len(children) < state.configuration.child_limit:
        return None
    fitting = [one for one in children if relation(one.cells, peer.cells) is Relation.COVERED]
    return min(fitting, key=lambda one: (hamming(one.bits, peer.bits), one.node), default=None)


def receive_unlink(state: PeerState, now: int, sender: int, message: Unlink) -> None:
    """The other end no longer chooses us; or does not know us, and must be told again if we want it."""
    state.table.dismiss(sender)
    if sender not in state.table.known:
        state.remote_tables.pop(sender, None)
    if message.stranger:
        state.announced.pop(sender, None)
        state.announced_version = -1
    watch_predecessor(state, now)


def receive_redirect(state: PeerState, now: int, sender: int, message: Redirect) -> None:
    """Let the child be our parent."""
    state.announced.pop(sender, None)
    state.heard.setdefault(message.child.node, now)
    state.table.refuse(sender, message.child)


def receive_correction(state: PeerState, now: int, message: LinkCorrection) -> None:
    """Learn who stands nearer."""
    state.learn(message.near, now)
    watch_predecessor(state, now)


def watch_predecessor(state: PeerState, now: int) -> None:
    """When another stands before us on the shared ring, give it its part of the directory, or take up who has gone."""
    previous = state.table.ring_before(state.space.shared_cell)
    node = None if previous is None else previous.node
    if node != state.predecessor:
        state.predecessor = node
        if state.configuration.directory:
            adopt_copies(state, now)
            if previous is not None:
                hand_over(state, now, previous)
