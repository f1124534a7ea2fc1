"""One participant of a scene of `benchmarks.stacks`: Cyclone DDS, or Rookery by the protocol that is named.

Arguments: the stack, and a file of endpoints (`W|R <tab> topic <tab> type`). Says `ready`, waits for a line, makes
everything, and says how many matches it has whenever a line comes. A host in PEERS is looked for instead of multicast.
"""

# No `from __future__ import annotations` here: Cyclone's IDL reads the annotations as types.
import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__: list[str] = []


def say(value: Any) -> None:
    """Write one line at once."""
    print(value, flush=True)


def be_cyclone(ends: list[list[str]]) -> None:
    """Be one Cyclone DDS participant."""
    from cyclonedds.core import Policy, Qos
    from cyclonedds.domain import DomainParticipant
    from cyclonedds.idl import IdlStruct
    from cyclonedds.idl.types import int32
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic
    from cyclonedds.util import duration

    def struct(name: str) -> Any:
        @dataclass
        class Datum(IdlStruct, typename=name):
            number: int32

        return Datum

    types = {name: struct(name) for _, _, name in ends}
    say("ready")
    sys.stdin.readline()
    participant = DomainParticipant(0)
    qos = Qos(Policy.Reliability.Reliable(duration(seconds=1)), Policy.History.KeepLast(1))
    topics: dict[str, Any] = {}
    made = []
    for kind, name, type_name in ends:
        if name not in topics:
            topics[name] = Topic(participant, name, types[type_name])
        made.append((DataWriter if kind == "W" else DataReader)(participant, topics[name], qos=qos))
    while sys.stdin.readline():
        own = 0  # Cyclone counts the partners inside one participant too, and so does Fast DDS
        for entity in made:
            matched = "get_matched_subscriptions" if isinstance(entity, DataWriter) else "get_matched_publications"
            own += len(getattr(entity, matched)())
        say(own)


async def be_rookery(protocol: str, ends: list[list[str]]) -> None:
    """Be one participant of Rookery."""
    from rookery.discovery import warm
    from rookery.live.udp import open_participant
    from rookery.rtps import QualityOfService, Reliability

    await asyncio.to_thread(warm, protocol)
    say("ready")
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sys.stdin.readline)
    qos = QualityOfService(reliability=Reliability.RELIABLE)
    lists: dict[str, Any] = {}
    if "PEERS" in os.environ:
        lists = {"multicast": False, "initial_peers": tuple(os.environ["PEERS"].split())}
    member = open_participant(on_event=lambda event: None, discovery=protocol, **lists)
    for kind, name, type_name in ends:
        make = member.participant.create_writer if kind == "W" else member.participant.create_reader
        make(name, type_name, qos, keyed=False, now=member.now())
    member.flush()
    while await loop.run_in_executor(None, sys.stdin.readline):
        say(sum(len(member.participant.matched(each.guid)) for each in member.participant.local_endpoints))


if __name__ == "__main__":
    listed = [line.split("\t") for line in Path(sys.argv[2]).read_text().splitlines()]
    if sys.argv[1].startswith("cyclone"):
        be_cyclone(listed)
    else:
        asyncio.run(be_rookery(sys.argv[1], listed))
    os._exit(0)  # no goodbye: the window is closed
