"""Fingers on the shared ring: for each power of two, the nearest known peer at least that far ahead (spec 2.7).

Rule 1: one finger for each distance class [2^i, 2^(i+1)), the nearest one known there; the finger of an empty class is
that of the next one. So there are about log2 N of them, and a look-up halves the distance with each hop. They are
learned from every descriptor that passes by, which costs no message.
Rule 2: a peer stands at one place, that of its highest epoch. Where it stood before it is no finger: walks would be led
there, and from there back, until their hops are used up.
"""

from __future__ import annotations

from collections.abc import Iterator

from rookery.overlay.identity import Descriptor, clockwise

__all__ = ["Fingers"]


class Fingers:
    """The fingers of one peer."""

    __slots__ = ("_classes", "own")

    def __init__(self, own: Descriptor) -> None:
        self.own = own
        self._classes: dict[int, Descriptor] = {}

    def __iter__(self) -> Iterator[Descriptor]:
        return iter(self._classes.values())

    def __len__(self) -> int:
        return len(self._classes)

    def consider(self, peer: Descriptor) -> bool:
        """Take a peer as finger if it is the nearest of its distance class; say whether it is a new one."""
        if peer.node == self.own.node:
            return False
        old = next((held for held in self if held.node == peer.node), None)
        if old is not None:
            if old.epoch >= peer.epoch:
                return False
            self.remove(peer.node)
        distance = clockwise(self.own, peer)
        held = self._classes.get(distance.bit_length())
        if held is None or distance < clockwise(self.own, held):
            self._classes[distance.bit_length()] = peer
            return old is None
        return False

    def remove(self, node: int) -> None:
        """Forget a peer that is gone."""
        for place in [place for place, held in self._classes.items() if held.node == node]:
            del self._classes[place]
