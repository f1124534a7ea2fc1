"""Exactly once: an event that carries an arc of the circle, for which its receiver alone answers (spec 2.4, `arc`).

Rule 1: a peer with an arc gives each holder of the cell that it knows inside the arc the piece from that holder to the
next one. The next holder on the ring is always known, so the pieces meet without gap or overlap.
Rule 2: how fast arcs shrink is a question of whom one knows: `shortcuts` has a holder in every distance class.
Rule 3: who cannot answer for its arc any more (it wants the cell no longer, or stands in a cluster behind another)
sends it back. The piece is then given to the holder before, whose own piece grows by it: an arc that begins at the same
peer and reaches farther is spread from where the first one ended.
"""

from __future__ import annotations

from rookery.overlay.identity import CIRCLE
from rookery.overlay.messages import CellEvent, Returned
from rookery.overlay.state import PeerState, Phase

__all__ = ["answers_for", "arc_length", "receive_returned", "spread", "unanswered"]


def arc_length(state: PeerState, event: CellEvent) -> int:
    """Return how far the arc of an event reaches from here: once around where it ends at ourselves."""
    random_id, node = event.arc_end or (0, 0)
    return ((random_id << 64 | node) - state.own.position) % CIRCLE or CIRCLE


def answers_for(state: PeerState, event: CellEvent) -> bool:
    """Tell whether we stand on the ring of the event's cell."""
    return state.phase is Phase.ACTIVE and event.cell in state.own.cells


def spread(state: PeerState, event: CellEvent, *, handled: int = 0, but: int | None = None) -> None:
    """Give out the pieces of the arc beyond what has been handled."""
    own, length = state.own.position, arc_length(state, event)
    known, shortcuts = state.table.known, state.shortcuts.known
    holders = {
        node: peer.position for peers in (shortcuts, known) for node, peer in peers.items() if event.cell in peer.cells
    }
    inside = sorted(
        (distance, node)
        for node, position in holders.items()
        if node != but and 0 < (distance := (position - own) % CIRCLE) < length
    )
    end = event.arc_end
    for distance, node in reversed(inside):
        state.send(node, CellEvent(event.event_id, event.cell, event.payload, event.hop + 1, arc_end=end))
        if distance < handled:
            break  # the last one before: its piece grows
        end = (holders[node] >> 64, node)


def unanswered(event: CellEvent, *, random_id: int, node: int) -> Returned:
    """Return an arc to its sender in the name of a receiver that cannot answer for it."""
    end = event.arc_end or (0, 0)
    return Returned(event.event_id, event.cell, event.payload, event.hop, end, random_id, node)


def receive_returned(state: PeerState, sender: int, message: Returned) -> None:
    """Let the holder before the sender answer for the sender's arc too."""
    state.shortcuts.remove(sender)
    if state.phase is not Phase.ACTIVE or message.event_id not in state.seen:
        return
    event = CellEvent(message.event_id, message.cell, message.payload, message.hop, arc_end=message.arc_end)
    handled = (message.position - state.own.position) % CIRCLE
    spread(state, event, handled=handled, but=sender)  # with nobody else inside there is nobody to miss it
