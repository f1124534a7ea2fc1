"""What a network that notices can save: a peer that refuses connections is gone now, not after three heartbeats.

Rule 1: it is removed as if it had been silent for too long, and those it was linked to are told.
Rule 2: what was on its way through it (a walk, a look-up, an arc) goes another way at once; what it was asked itself is
asked again at once, of somebody else.
Where datagrams are lost in silence there is no such notice, and the timers of `repair` and `joining` do the work.
"""

from __future__ import annotations

from rookery.overlay import arcs, joining, repair, ring
from rookery.overlay.messages import Event, Find, Join, Lookup, Message
from rookery.overlay.state import PeerState, Phase

__all__ = ["receive"]


def receive(state: PeerState, now: int, node: int, message: Message | None) -> None:
    """Take notice that a peer cannot be reached, and of what it did not get, where that can be read."""
    _remove(state, now, node)
    match message:
        case Event(arc_end=end) if end is not None:
            _return_arc(state, node, message)
        case Lookup() if state.phase is not Phase.JOINING or message.origin.node == state.own.node:
            ring.receive_lookup(state, now, message)
        case Find() if message.origin.node != state.own.node:
            ring.receive_find(state, now, message)
        case Join() if message.origin.node != state.own.node:
            joining.receive_join(state, now, message)
        case Join():
            _hurry(state, now, "join")
    for request in state.requests.values():
        if node in request.tried:
            request.deadline = now


def _return_arc(state: PeerState, node: int, event: Event) -> None:
    """Give the arc of one who is gone to the one before it, if we still know where it stood."""
    tombstone = state.tombstones.get(node)
    if tombstone is not None and tombstone.random_id is not None:
        arcs.receive_returned(state, node, arcs.unanswered(event, random_id=tombstone.random_id, node=node))


def _remove(state: PeerState, now: int, node: int) -> None:
    period = state.configuration.heartbeat or 0
    for block in [block for block, owner in state.owners.items() if owner.node == node]:
        del state.owners[block]
    if state.phase is Phase.MEMBER or any(one.node == node for one in state.members):
        state.heard[node] = now - 1000 * period  # the cluster's next heartbeat settles it
    elif state.phase is Phase.ACTIVE and node in state.table.known:
        repair.fail(state, now, node, tell=True)
    elif node in state.shortcuts.known:
        state.bury(node, now)
    if state.phase is Phase.JOINING:
        state.table.forget(node)
    state.fingers.remove(node)
    state.shortcuts.remove(node)
    state.bootstraps = tuple(one for one in state.bootstraps if one != node) or state.bootstraps
    state.acquaintances = [one for one in state.acquaintances if one != node]


def _hurry(state: PeerState, now: int, kind: str) -> None:
    for request in state.requests.values():
        if request.kind == kind:
            request.deadline = now
