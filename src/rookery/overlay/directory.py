"""The part of the cell directory that one peer keeps (spec 2.7).

Rule 1: cells are kept in blocks of consecutive numbers, and the peer that follows the block's hash on the shared ring
owns the block. A subscription is a run of cells, so one look-up finds contacts for all of it.
Rule 2: for each cell up to CONTACTS live holders, spread over the circle: when there are more, the one that stands
closest between two others goes. A newcomer then starts its walk near its own place.
Rule 3: entries are leases. Who does not renew is forgotten, so a lost owner costs one period and no repair.
Rule 4: the block of a peer's lowest cell also notes who is primary of exactly that set of cells, so that a second peer
of the same cells finds its cluster: the owner is the one place where two claims meet.
Rule 5: an entry has one owner and one copy, at the peer after the owner, kept apart from what that one owns. When the
owner is gone the copy is in force; when another comes to own the block, the entry goes there and stays as a copy here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping

from rookery.overlay.identity import CIRCLE, Descriptor

__all__ = ["CONTACTS", "Directory", "block_position"]

#: Contacts kept for each cell.
CONTACTS = 16


def block_position(block: int) -> int:
    """Return where on the circle a block of cells belongs."""
    digest = hashlib.blake2b(block.to_bytes(8, "big"), digest_size=8, person=b"block").digest()
    return int.from_bytes(digest, "big") << 64


class Directory:
    """Contacts by cell and primaries by set of cells, each with the time its lease ends."""

    __slots__ = ("_claims", "_contacts")

    def __init__(self) -> None:
        self._contacts: dict[int, dict[int, tuple[Descriptor, int]]] = {}
        self._claims: dict[frozenset[int], tuple[Descriptor, int]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._contacts.values())) + len(self._claims)

    def register(self, cells: Iterable[int], holder: Descriptor, *, until: int) -> None:
        """Note a holder of these cells."""
        for cell in cells:
            held = self._contacts.setdefault(cell, {})
            old = held.get(holder.node)
            if old is None or old[0].epoch <= holder.epoch:
                held[holder.node] = (holder, until)
            if len(held) > CONTACTS:
                self._thin(held, now=None)

    def contacts(self, cell: int, *, now: int) -> tuple[Descriptor, ...]:
        """Return the holders of a cell whose lease lasts."""
        held = self._contacts.get(cell)
        if not held:
            return ()
        self._thin(held, now=now)
        return tuple(holder for holder, _ in held.values())

    def claim(self, candidate: Descriptor, *, now: int, until: int, replaces: int | None = None) -> Descriptor:
        """Return the primary of the candidate's cells: the one noted before, else the candidate itself."""
        held = self._claims.get(candidate.cells)
        if held is not None and held[1] > now and held[0].node not in (candidate.node, replaces):
            same_place = held[0].random_id == candidate.random_id and held[0].epoch < candidate.epoch
            if not same_place:
                return held[0]
        self._claims[candidate.cells] = (candidate, until)
        return candidate

    def drop(self, node: int) -> None:
        """Forget a peer that is known to be gone."""
        for held in self._contacts.values():
            held.pop(node, None)
        for cells in [cells for cells, (holder, _) in self._claims.items() if holder.node == node]:
            del self._claims[cells]

    def select(
        self, wanted: Callable[[int], bool], *, now: int
    ) -> tuple[dict[int, tuple[Descriptor, ...]], tuple[Descriptor, ...]]:
        """Return the live entries whose lowest cell or cell satisfies `wanted`."""
        contacts = {
            cell: found for cell in list(self._contacts) if wanted(cell) and (found := self.contacts(cell, now=now))
        }
        claims = tuple(one for cells, (one, until) in self._claims.items() if until > now and wanted(min(cells)))
        return contacts, claims

    def take(
        self, wanted: Callable[[int], bool], *, now: int
    ) -> tuple[dict[int, tuple[Descriptor, ...]], tuple[Descriptor, ...]]:
        """Remove the entries that satisfy `wanted`, and return those of them that live."""
        found = self.select(wanted, now=now)
        for cell in [cell for cell in self._contacts if wanted(cell)]:
            del self._contacts[cell]
        for cells in [cells for cells in self._claims if wanted(min(cells))]:
            del self._claims[cells]
        return found

    def put(
        self, contacts: Mapping[int, tuple[Descriptor, ...]], claims: Iterable[Descriptor], *, now: int, until: int
    ) -> None:
        """Add entries that were handed over."""
        for cell, holders in contacts.items():
            for holder in holders:
                self.register((cell,), holder, until=until)
        for claimant in claims:
            self.claim(claimant, now=now, until=until)

    def _thin(self, held: dict[int, tuple[Descriptor, int]], *, now: int | None) -> None:
        if now is not None:
            for node in [node for node, (_, until) in held.items() if until <= now]:
                del held[node]
        while len(held) > CONTACTS:
            ring = sorted((holder.position, node) for node, (holder, _) in held.items())
            gaps = [
                ((ring[(place + 1) % len(ring)][0] - ring[place - 1][0]) % CIRCLE, node)
                for place, (_, node) in enumerate(ring)
            ]
            del held[min(gaps)[1]]
