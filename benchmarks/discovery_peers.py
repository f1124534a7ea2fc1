"""The participants of one scene: real Cyclone DDS, one to a process, or Rookery, several to a process.

A process says `ready` when everything is imported, waits for a line, makes its participants and endpoints at once, and
says when each endpoint has all its partners (a JSON line, at most once). At the next line it tells what is missing.
"""

# No `from __future__ import annotations` here: Cyclone's IDL reads the annotations as types.
import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["LEASE_SECONDS", "PERIOD_SECONDS", "TYPE_NAME", "Scene"]

LEASE_SECONDS = 10
PERIOD_SECONDS = 8
TYPE_NAME = "bench::Datum"
_POLL_SECONDS = 0.05
_CYCLONE = (
    '<CycloneDDS><Domain Id="any"><General><Interfaces><NetworkInterface name="lo"/></Interfaces>'
    "<AllowMulticast>{multicast}</AllowMulticast></General>"
    "<Discovery><LeaseDuration>{lease} s</LeaseDuration><SPDPInterval>{period} s</SPDPInterval></Discovery>"
    "</Domain></CycloneDDS>"
)


@dataclass(frozen=True)
class Scene:
    """Who writes and reads what."""

    shape: str
    participants: int
    endpoints: int

    def topics(self, index: int) -> tuple[list[str], list[str]]:
        """Return what a participant writes and what it reads."""
        half, following = self.endpoints // 2, (index + 1) % self.participants
        own = [f"robot{index:03}/sensor/data{number:02}" for number in range(half)]
        if self.shape == "ring":
            return own, [f"robot{following:03}/sensor/data{number:02}" for number in range(half)]
        if self.shape == "disjoint":
            return own, [f"robot{index:03}/wanted/data{number:02}" for number in range(half)]
        if self.shape == "dense":
            shared = [f"everyone/sensor/data{number:02}" for number in range(half)]
            return shared, shared
        raise ValueError(f"no shape {self.shape!r}")

    @property
    def partners(self) -> int:
        """How many partners each endpoint has in other participants."""
        return {"ring": 1, "disjoint": 0, "dense": self.participants - 1}[self.shape]


def say(value: Any) -> None:
    """Write one line at once."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def be_cyclone(scene: Scene, index: int, multicast: str) -> None:
    """Be one Cyclone DDS participant."""
    os.environ["CYCLONEDDS_URI"] = _CYCLONE.format(multicast=multicast, lease=LEASE_SECONDS, period=PERIOD_SECONDS)
    from cyclonedds.core import Policy, Qos
    from cyclonedds.domain import DomainParticipant
    from cyclonedds.idl import IdlStruct
    from cyclonedds.idl.types import int32
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic
    from cyclonedds.util import duration

    @dataclass
    class Datum(IdlStruct, typename=TYPE_NAME):
        number: int32

    say("ready")
    sys.stdin.readline()
    began = time.monotonic()
    participant = DomainParticipant(0)
    qos = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(1))
    written, read = scene.topics(index)
    topics = {name: Topic(participant, name, Datum) for name in dict.fromkeys((*written, *read))}
    writers = [DataWriter(participant, topics[name], qos=qos) for name in written]
    readers = [DataReader(participant, topics[name], qos=qos) for name in read]
    own = sum(name in written for name in read)  # a participant is its own partner here too

    def count(matched: Callable[[], list[int]]) -> int:
        while True:
            try:
                return len(matched())
            except IndexError:  # cyclonedds 11.0.1 counts, then lists: one more came in between
                continue

    def missing() -> int:
        expected = scene.partners + bool(own)
        found = [count(writer.get_matched_subscriptions) for writer in writers]
        found += [count(reader.get_matched_publications) for reader in readers]
        return sum(max(0, expected - count) for count in found)

    while missing() and time.monotonic() - began < 60:
        time.sleep(_POLL_SECONDS)
    say({"seconds": time.monotonic() - began})
    sys.stdin.readline()
    say({"missing": missing()})
    os._exit(0)  # no goodbye: the window is closed


async def be_rookery(scene: Scene, indexes: list[int], protocol: str) -> None:
    """Be some Rookery participants."""
    from rookery.discovery import warm
    from rookery.live.udp import open_participant
    from rookery.rtps import QualityOfService, Reliability

    await asyncio.to_thread(warm, protocol)
    say("ready")
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sys.stdin.readline)
    began, worked = time.monotonic(), time.process_time()
    qos = QualityOfService(reliability=Reliability.RELIABLE)
    members = []
    for index in indexes:
        member = open_participant(
            on_event=lambda event: None,
            lease=LEASE_SECONDS * 1_000_000,
            period=PERIOD_SECONDS * 1_000_000,
            discovery=protocol,
        )
        written, read = scene.topics(index)
        for name in written:
            member.participant.create_writer(name, TYPE_NAME, qos, keyed=False, now=member.now())
        for name in read:
            member.participant.create_reader(name, TYPE_NAME, qos, keyed=False, now=member.now())
        member.flush()
        members.append(member)

    def missing() -> int:
        expected = scene.partners + (scene.shape == "dense")
        found = (
            len(member.participant.matched(endpoint.guid))
            for member in members
            for endpoint in member.participant.local_endpoints
        )
        return sum(max(0, expected - count) for count in found)

    while missing() and time.monotonic() - began < 60:
        await asyncio.sleep(_POLL_SECONDS)
    say({"seconds": time.monotonic() - began})
    await loop.run_in_executor(None, sys.stdin.readline)
    say({"missing": missing(), "cpu_seconds": time.process_time() - worked})
    os._exit(0)


def run(arguments: list[str]) -> None:
    """Be what the arguments say: implementation, shape, participants, endpoints, which of them, protocol."""
    implementation, shape, participants, endpoints, indexes, protocol = arguments
    scene = Scene(shape, int(participants), int(endpoints))
    chosen = [int(index) for index in indexes.split(",")]
    if implementation == "cyclone":
        be_cyclone(scene, chosen[0], "true" if protocol == "multicast" else "spdp")
    else:
        asyncio.run(be_rookery(scene, chosen, protocol))


if __name__ == "__main__":
    run(sys.argv[1:])
