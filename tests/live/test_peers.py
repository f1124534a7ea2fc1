"""Participants that find each other without multicast, by a list of hosts: ours, and Cyclone DDS configured so."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from rookery.errors import JoinError
from rookery.live.udp import open_participant
from rookery.participant.configuration import PARTICIPANT_INDICES, peer_addresses, well_known_port
from rookery.rtps.events import ParticipantLost

from .conftest import MESSAGE, RELIABLE, CyclonePeer, OurPeer

pytestmark = pytest.mark.wire

Cyclone = Callable[..., CyclonePeer]
SAMPLE = {"number": 1, "text": "one"}


def run(test: Any) -> None:
    asyncio.run(test)


def test_ports_are_those_of_the_standard() -> None:
    assert well_known_port(0, 0) == 7_410
    assert well_known_port(3, 2) == 8_164
    assert [address.port for address in peer_addresses("10.0.0.1", 1)] == list(range(7_660, 7_680, 2))
    assert well_known_port(232, 119) == 0


def test_participants_take_the_ports_in_turn_and_any_when_all_are_taken(domain_id: int) -> None:
    async def test() -> None:
        ports = {well_known_port(domain_id, index) for index in range(PARTICIPANT_INDICES)}
        one, two = OurPeer(domain_id), OurPeer(domain_id)
        taken = [each.udp.participant.configuration.unicast.port for each in (one, two)]
        assert len(set(taken)) == 2
        assert set(taken) <= ports
        others = []
        for port in ports - set(taken):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    continue
                others.append(probe.dup())
        three = OurPeer(domain_id)
        assert three.udp.participant.configuration.unicast.port not in ports
        for each in (one, two, three):
            await each.udp.close()
        for other in others:
            other.close()

    run(test())


@pytest.mark.parametrize("who_names", ["they", "we", "both"])
def test_cyclone_is_found_by_a_host_alone(cyclone: Cyclone, domain_id: int, who_names: str) -> None:
    """Neither speaks by multicast; one of them, or both, have the host in a list."""

    async def test() -> None:
        # Cyclone without a name of its own in the list still binds a port at which it is looked for.
        named = "127.0.0.1" if who_names != "we" else "127.0.0.254"
        # Cyclone calls on those in its list when it starts, and again only after half a minute: so we are there first.
        our = OurPeer(domain_id, multicast=False, initial_peers=("127.0.0.1",) if who_names != "they" else ())
        peer = cyclone(named=named)
        try:
            there = await peer.ask("writer", topic="there", type="Message")
            back = await peer.ask("reader", topic="back", type="Message")
            reader, writer = our.reader("there", MESSAGE, RELIABLE), our.writer("back", MESSAGE, RELIABLE)
            await our.matched(reader)
            await our.matched(writer)
            assert await peer.ask("wait_matched", entity=there)
            assert await peer.ask("wait_matched", entity=back)
            await peer.ask("write", entity=there, samples=[SAMPLE])
            our.write(writer, MESSAGE, SAMPLE)
            await our.until(lambda: our.samples(reader, MESSAGE))
            assert await peer.ask("take", entity=back, count=1) == [[SAMPLE, "alive"]]
        finally:
            await our.udp.close()

    run(test())


def test_who_was_named_stays_known_to_who_named_it(domain_id: int) -> None:
    """The one that names nobody repeats its announcement to those who call: its lease does not run out there."""

    async def lost() -> tuple[int, float]:
        """How many were lost in three leases, and the longest time for which this process was held up."""
        found = OurPeer(domain_id, multicast=False, lease=1_000_000)
        caller = OurPeer(domain_id, multicast=False, lease=1_000_000, initial_peers=("127.0.0.1",))
        try:
            await caller.until(lambda: caller.udp.participant.peers)
            await found.until(lambda: found.udp.participant.peers)
            longest = 0.0
            for _ in range(60):
                before = time.monotonic()
                await asyncio.sleep(0.05)
                longest = max(longest, time.monotonic() - before)
            return len(caller.of(ParticipantLost)) + len(found.of(ParticipantLost)), longest
        finally:
            await found.udp.close()
            await caller.udp.close()

    async def test() -> None:
        while True:
            count, longest = await lost()
            if not count:
                return
            assert longest > 0.3, "a lease ran out, and not because the machine is busy"

    run(test())


@pytest.mark.parametrize("peer", ["127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:x", "no.such.host.invalid"])
def test_a_peer_that_is_written_wrongly_is_refused(peer: str) -> None:
    async def test() -> None:
        with pytest.raises(JoinError, match="peer"):
            open_participant(on_event=lambda event: None, initial_peers=(peer,))

    run(test())
