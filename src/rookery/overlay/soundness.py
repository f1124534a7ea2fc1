"""Is a message from the network one that a peer in its right mind can have sent? What is not never reaches the machine.

Rule 1: every descriptor holds the shared cell, only cells of the grid, and the identity of its cells.
Rule 2: every number of a cell or block is one of the grid; a walk has no more hops left than a new one.
Rule 3: an event lies in the cell that it names; else it could be led along any ring. Whether the rest of its values can
be read shows when it is matched (`dissemination`), which is done once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rookery.overlay.identity import Descriptor
from rookery.overlay.messages import CellEvent, Inject, Message, Returned, RingEvent
from rookery.overlay.state import PeerState

__all__ = ["is_sound"]


def is_sound(message: Message, state: PeerState) -> bool:
    """Tell whether a decoded message may be acted upon."""
    space = state.space
    if not all(space.is_sound(one) for one in _descriptors(message)):
        return False
    if not all(0 <= cell <= space.shared_cell for cell in _cells(message)):
        return False
    if not 0 <= getattr(message, "hops_left", 0) <= state.configuration.hop_limit:
        return False
    if isinstance(message, CellEvent | RingEvent | Inject | Returned):
        return _is_sound_event(message, state)
    return True


def _is_sound_event(message: CellEvent | RingEvent | Inject | Returned, state: PeerState) -> bool:
    try:  # the payload is foreign, and the owner's interests read it
        return state.interests.cell(message.payload) == message.cell
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False


def _cells(message: Message) -> Iterator[int]:
    for name in ("cell", "block"):
        if hasattr(message, name):
            yield getattr(message, name)
    for name in ("cells", "residual", "adjacent", "contacts"):
        numbers: Iterable[int] = getattr(message, name, ())
        yield from numbers


def _descriptors(message: Message) -> Iterator[Descriptor]:
    waiting: list[Any] = [getattr(message, name) for name in message.__struct_fields__ if name != "payload"]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Descriptor):
            yield value
        elif isinstance(value, tuple):
            waiting.extend(one for one in value if isinstance(one, msgspec.Struct))
        elif isinstance(value, dict):
            waiting.extend(one for one in value.values() if isinstance(one, tuple))
