"""Detours: where datagrams go that are for another of a participant's hosts than the one it is reached at.

A participant with several hosts is reached at the one it was first heard from, whatever order it names them in: that
path works. When nothing has come from there for the length of its lease, and something comes from another, all that is
for it takes a detour to that one. Nobody who sends needs to know, pairs stay pairs, and what was lost meanwhile is
repaired as any loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rookery.rtps.locators import Address

__all__ = ["Destination", "Detours"]


class Destination(NamedTuple):
    """A participant at an address."""

    prefix: bytes
    address: Address


class Detours:
    """The detours to all participants that have several hosts."""

    def __init__(self) -> None:
        #: By where something is for, where it goes; what is not in it goes where it is for.
        self.ways: dict[Destination, Destination] = {}
        self._left: dict[bytes, list[Destination]] = {}

    def lead(self, prefix: bytes, host: str, alternatives: Iterable[tuple[Address, ...]]) -> None:
        """Reach a participant at a host from now on; of addresses that serve the same end any may stand for another."""
        self.end(prefix)
        left = self._left[prefix] = []
        for addresses in alternatives:
            reached = [Destination(prefix, address) for address in addresses if address.host == host]
            if reached:
                elsewhere = [Destination(prefix, address) for address in addresses if address.host != host]
                left += elsewhere
                self.ways.update(dict.fromkeys(elsewhere, reached[0]))

    def end(self, prefix: bytes) -> None:
        """Forget a participant."""
        for left in self._left.pop(prefix, ()):
            self.ways.pop(left, None)
