"""Walks that a network brings twice are taken once: else each hop doubles some, and all of them walk on.

Rule 1: a walk (JOIN, FIND, look-up) has one less hop left at each peer, so the same one with as many hops left, for the
same cells, is a repetition; where a walk comes by again on its own way, it has fewer.
Rule 2: who has no answer asks again, and that walk looks like the one before. So a walk is remembered for half as long
as an answer is awaited: repetitions come sooner than that, questions later.
"""

from __future__ import annotations

from rookery.machine.dedup import DedupWindow
from rookery.overlay.messages import Find, Join, Lookup, Message
from rookery.overlay.state import PeerState, WalkKey

__all__ = ["WALKS", "is_repetition"]

WALKS = frozenset((Find, Join, Lookup))
#: Walks that are remembered at the most, however many come by in that time.
MOST = 1 << 12


def is_repetition(state: PeerState, now: int, message: Message) -> bool:
    """Tell whether a walk has been here, and remember it."""
    match message:
        case Find() | Lookup():
            cells = message.cells
        case Join():
            cells = message.residual
        case _:
            return False
    if state.walks is None:  # most peers of a large static overlay see none
        state.walks = DedupWindow(MOST, lifetime=max(1, state.configuration.request_timeout // 2))
    walk: WalkKey = (type(message).__name__, message.origin.node, message.request, message.hops_left, cells)
    return not state.walks.add(walk, None, now)
