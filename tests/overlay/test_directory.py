"""The directory of one peer: leases, at most so many contacts and spread out, claims, and what is handed over."""

from __future__ import annotations

from rookery.overlay.directory import CONTACTS, Directory, block_position
from rookery.overlay.identity import Descriptor, SemanticSpace

SPACE = SemanticSpace(cell_count=64)


def holder(node: int, *cells: int, place: int | None = None, epoch: int = 0) -> Descriptor:
    return SPACE.describe(node=node, random_id=node if place is None else place, cells=cells, epoch=epoch)


def test_a_lease_ends() -> None:
    directory = Directory()
    directory.register((1, 2), holder(7, 1, 2), until=10)
    assert [one.node for one in directory.contacts(1, now=9)] == [7]
    assert directory.contacts(1, now=10) == ()
    assert directory.contacts(3, now=0) == ()


def test_contacts_are_few_and_spread_over_the_circle() -> None:
    directory = Directory()
    for node in range(4 * CONTACTS):
        directory.register((1,), holder(node, 1, place=node if node % 4 else node << 58), until=10)
    places = sorted(one.random_id for one in directory.contacts(1, now=0))
    assert len(places) == CONTACTS
    assert sum(place >= 1 << 58 for place in places) >= CONTACTS - 2


def test_a_claim_stands_until_its_lease_ends_or_it_is_replaced() -> None:
    directory = Directory()
    first, second = holder(1, 5, 6), holder(2, 5, 6)
    assert directory.claim(first, now=0, until=10) is first
    assert directory.claim(second, now=5, until=15) is first
    assert directory.claim(second, now=5, until=15, replaces=1) is second
    assert directory.claim(first, now=16, until=20) is first
    successor = holder(9, 5, 6, place=1, epoch=3)
    assert directory.claim(successor, now=17, until=25) is successor  # at the same place of the circle, and later


def test_what_is_taken_is_gone_and_may_be_put_elsewhere() -> None:
    one, other = Directory(), Directory()
    one.register((1, 20), holder(7, 1, 20), until=10)
    one.claim(holder(7, 1, 20), now=0, until=10)
    one.register((30,), holder(8, 30), until=2)
    contacts, claims = one.take(lambda cell: cell < 25, now=3)
    assert sorted(contacts) == [1, 20]
    assert [claim.node for claim in claims] == [7]
    assert one.contacts(1, now=3) == ()
    other.put(contacts, claims, now=3, until=12)
    assert [found.node for found in other.contacts(20, now=11)] == [7]
    other.drop(7)
    assert other.contacts(20, now=11) == ()
    assert len(other) == 0


def test_blocks_lie_anywhere_on_the_circle() -> None:
    places = {block_position(block) >> 124 for block in range(200)}
    assert places == set(range(16))
