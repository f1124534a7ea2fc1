"""What a network that notices can save: a peer that refuses connections is gone now, not after three heartbeats.

Rule 1: it is removed as if it had been silent for too long, and those it was linked to are told.
Rule 2: what was on its way through it (a walk, a look-up, an arc) goes another way at once; what it was asked itself is
asked again at once, of somebody else.
Rule 3: it stays a way back into the overlay (`state.ways_in`): it may only have been cut off, and we with it.
Where datagrams are lost in silence there is no such notice, and the timers of `repair` and `joining` do the work.
"""

from __future__ import annotations

from rookery.overlay import arcs, joining, repair, ring
from rookery.overlay.messages import CellEvent, Find, Join, Lookup, Message
from rookery.overlay.state import PeerState, Phase, Request

__all__ = ["receive"]


def receive(state: PeerState, now: int, node: int, message: Message | None) -> None:
    """Take notice that a peer cannot be reached, and of what it did not get, where that can be read."""
    _remove(state, now, node)
    waits = state.phase is Phase.MEMBER and state.primary is not None and state.primary.node == node
    match message:
        case _ if waits:
            pass  # all that we pass on goes by our primary: whoever asked will ask again
        case CellEvent(arc_end=end) if end is not None:
            _return_arc(state, node, message)
        case Lookup() if state.phase is not Phase.JOINING or state.table.known or len(state.fingers):
            ring.receive_lookup(state, now, message)
        case Find() if message.origin.node != state.own.node:
            ring.receive_find(state, now, message)
        case Join() if message.origin.node != state.own.node:
            joining.receive_join(state, now, message)
    for request in state.requests.values():
        if node in request.tried:
            _hurry(state, now, request)


def _return_arc(state: PeerState, node: int, event: CellEvent) -> None:
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


def _hurry(state: PeerState, now: int, request: Request) -> None:
    """Ask somebody else at once; where all ways in were tried in vain, wait as long as for an answer."""
    if request.kind == "join" and request.tried.issuperset(state.ways_in):
        request.tried.clear()
    else:
        request.deadline = now
