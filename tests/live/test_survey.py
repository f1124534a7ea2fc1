"""Looking at a domain: what the survey finds of our own participants, summaries included."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

import rookery
from rookery import DdsOptions, DdsReaderOptions, DdsWriterOptions
from rookery.discovery import PROTOCOLS
from rookery.errors import JoinError
from rookery.live.groups import group_socket
from rookery.live.interfaces import find_interface
from rookery.live.udp import open_participant
from rookery.rtps import Address, Limits

from .conftest import survey_until

SECRET = b"a key of 16 octets or more"


@pytest.mark.parametrize(("protocol", "secret"), [*((name, None) for name in PROTOCOLS), ("ribbon", SECRET)])
def test_a_survey_finds_participants_endpoints_and_summaries(
    domain_id: int, protocol: str, secret: bytes | None
) -> None:
    async def test() -> None:
        options = {"domain_id": domain_id, "pre_shared_key": secret}
        seen = DdsOptions(name="seen", seconds_of_lease=20, discovery=protocol, pre_shared_key=secret)
        async with rookery.open(f"dds://{domain_id}", seen) as node:
            writing = DdsWriterOptions(key=("symbol",), transient_local=True, keep_last=2)
            node.advertise("quotes", schema={"symbol": "string"}, dds=writing)
            reading = DdsReaderOptions(reliable=False)
            node.subscribe("news", overflow="drop-oldest", schema={"text": "string"}, dds=reading)
            found = await survey_until(lambda found: len(found.endpoints) == 2, **options)
            (participant,) = found.participants
            assert participant.prefix == node.dds.udp.participant.prefix.hex()
            expected = None if protocol == "simple" else protocol
            assert (participant.vendor, participant.name, participant.summary) == ("Rookery", "seen", expected)
            assert bool(participant.summary_bytes) == (protocol != "simple")
            assert (participant.writers, participant.readers, participant.lease_seconds) == (1, 1, 20.0)
            assert [(each.topic, each.kind, each.keyed) for each in found.endpoints] == [
                ("news", "reader", False),
                ("quotes", "writer", True),
            ]
            assert found.endpoints[1].quality["history"] == "keep_last 2"
            assert found.endpoints[1].summary == expected
            assert found.to_dict()["domain_id"] == domain_id
            # Its own goodbye is heard: nobody keeps the observer.
            async with asyncio.timeout(600):
                while node.dds.udp.participant.peers:
                    await asyncio.sleep(0.01)

    asyncio.run(test())


def test_a_limit_that_is_reached_is_a_warning_and_can_be_raised(
    domain_id: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        place = f"dds://{domain_id}"
        async with rookery.open(place, DdsOptions(name="one")), rookery.open(place, DdsOptions(name="two")):
            few = await survey_until(
                lambda found: found.limits_reached, domain_id=domain_id, limits=Limits(participants=1)
            )
            assert len(few.participants) == 1
            assert few.limits_reached == {
                "participants": "participants = 1 is reached, participants are not taken in: "
                "matches with them are missing"
            }
            assert [line for line in caplog.messages if "participants = 1 is reached" in line and "--limit" in line]
            caplog.clear()
            # Room for more than the two: this process hears the group through one socket, and what the first survey
            # said there, its goodbye last, may still wait in it when the second one joins.
            all_of_them = await survey_until(
                lambda found: len(found.participants) == 2, domain_id=domain_id, limits=Limits(participants=16)
            )
            assert {each.name for each in all_of_them.participants} == {"one", "two"}
            assert not all_of_them.limits_reached
            assert not [line for line in caplog.messages if "is reached" in line]

    asyncio.run(test())


def test_a_port_that_is_taken_says_so() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("239.255.0.1", 0))  # without SO_REUSEADDR: nobody else may listen here
        with pytest.raises(JoinError, match=r"cannot listen to 239\.255\.0\.1:"):
            group_socket(find_interface("lo"), Address("239.255.0.1", taken.getsockname()[1]))


def test_the_participants_of_a_process_hear_the_group_through_one_socket(domain_id: int) -> None:
    def open_sockets() -> int:
        return sum(
            link.readlink().name.startswith("socket:") for link in Path("/proc/self/fd").iterdir() if link.exists()
        )

    async def test() -> None:
        before = open_sockets()
        members = [open_participant(on_event=lambda event: None, domain_id=domain_id) for _ in range(5)]
        assert open_sockets() == before + 5 + 1
        async with asyncio.timeout(600):
            while any(len(member.participant.peers) < 4 for member in members):
                await asyncio.sleep(0.01)
        for member in members:
            await member.close()
        assert open_sockets() == before
        # The next one opens the group again.
        again = open_participant(on_event=lambda event: None, domain_id=domain_id)
        assert open_sockets() == before + 2
        await again.close()

    asyncio.run(test())
