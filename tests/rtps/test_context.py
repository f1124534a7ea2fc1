"""What the parts of a participant share: one count, one queue of events, one judgment of addresses."""

from __future__ import annotations

from ipaddress import IPv4Network

from rookery.rtps import Address, AllowedNetworks, Limits
from rookery.rtps.context import ParticipantContext
from rookery.rtps.events import MessageRejected
from rookery.rtps.identity import UNKNOWN_PREFIX
from rookery.rtps.locators import Locator
from rookery.rtps.peers import Destination
from rookery.rtps.submessages import Data


def test_what_is_refused_is_counted_and_reported_with_its_sender() -> None:
    context = ParticipantContext(b"p" * 12)
    context.sender = Address("127.0.0.5", 5)
    context.reject("too loud")
    assert context.counters["rejected"] == 1
    assert context.events == [MessageRejected(Address("127.0.0.5", 5), "too loud")]


def test_addresses_are_those_of_the_allowed_networks_and_not_too_many() -> None:
    context = ParticipantContext(
        b"p" * 12, limits=Limits(locators=2), networks=AllowedNetworks((IPv4Network("10.0.0.0/8"),))
    )
    wanted = [Address(f"10.0.0.{number}", 7_400) for number in range(1, 5)]
    locators = [Locator.of(address) for address in (Address("127.0.0.1", 1), *wanted)]
    assert context.addresses(locators) == tuple(wanted[:2])
    assert context.counters["locator_network"] == 1
    assert context.counters["locators"] == 1


def test_the_outbox_asks_the_peers_before_it_sends() -> None:
    context = ParticipantContext(b"p" * 12)
    place = Address("127.0.0.1", 1)
    context.outbox.add(Destination(b"unknown.....", place), Data(0, 3, 1, bytes(8)))
    assert context.outbox.sends() == []
    assert context.counters["forgotten_peer"] == 1
    context.outbox.add(Destination(UNKNOWN_PREFIX, place), Data(0, 3, 1, bytes(8)))
    assert [send.receiver for send in context.outbox.sends()] == [place]
