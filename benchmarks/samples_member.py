"""One end of the sample benchmark, a process of its own: Rookery or Cyclone DDS's Python package, writing or reading.

    python benchmarks/samples_member.py STACK ROLE DOMAIN COUNT SIZE [WHERE [OVERFLOW]]

STACK is rookery or cyclone, ROLE write or read; SIZE is the bytes of a sample's payload. The process says `ready` when
it is matched, waits for a line, and prints one JSON object when it is done: its CPU seconds from that line to the end,
and how many samples it sent or saw. What is sent exists before the line: building it is not measured.
"""

# No `from __future__ import annotations` here: Cyclone's IDL reads the annotations as types.
import asyncio
import json
import os
import sys
import time
from typing import Any

__all__ = ["main"]

TOPIC = "samples"
#: Bytes of a sample that are not its text: header, number, value, and the text's length and end.
FIXED = 4 + 8 + 8 + 4 + 1


def an_event(number: int, size: int) -> dict[str, Any]:
    return {"number": number, "value": number / 2, "text": "x" * (size - FIXED)}


def go() -> float:
    """Say that everything is prepared, wait for the word, and return the CPU time until then."""
    print("ready", flush=True)
    sys.stdin.readline()
    return time.process_time()


def done(before: float, count: int) -> None:
    print(json.dumps({"cpu": time.process_time() - before, "count": count}), flush=True)


# ---- Rookery ---------------------------------------------------------------------------------------------------------


async def rookery_write(domain_id: int, count: int, size: int) -> None:
    import rookery

    schema = rookery.Schema(number=int, value=float, text=str)
    events = [an_event(number, size) for number in range(count)]
    async with rookery.open(f"dds://{domain_id}") as client:
        client.advertise(TOPIC, schema=schema)
        await client.dds.wait_for_readers(TOPIC, seconds=60)
        await asyncio.sleep(1)
        before = go()
        sent = await client.publish_many(TOPIC, events)
        await client.flush(TOPIC, seconds=120)
        done(before, sent)
        await asyncio.to_thread(sys.stdin.readline)


async def rookery_read(domain_id: int, count: int, where: str | None, overflow: str) -> None:
    import rookery

    schema = rookery.Schema(number=int, value=float, text=str)
    async with rookery.open(f"dds://{domain_id}") as client:
        queue = None if overflow == "wait" else count
        async with client.subscribe(TOPIC, where, schema=schema, overflow=overflow, queue=queue) as events:
            before, seen = None, 0
            reading = aiter(events)
            while not client.dds.udp.participant.remote_endpoints:
                await asyncio.sleep(0.05)
            await asyncio.sleep(1)
            before = go()
            async for event in reading:
                assert event["number"] == seen
                seen += 1
                if seen == count:
                    break
            done(before, seen)
            await asyncio.to_thread(sys.stdin.readline)


# ---- Cyclone DDS -----------------------------------------------------------------------------------------------------


def cyclone(role: str, domain_id: int, count: int, size: int) -> None:
    os.environ["CYCLONEDDS_URI"] = (
        '<CycloneDDS><Domain Id="any"><General><Interfaces><NetworkInterface name="lo"/></Interfaces></General>'
        "</Domain></CycloneDDS>"
    )
    from dataclasses import dataclass

    from cyclonedds.core import InstanceState, Policy, Qos, ReadCondition, SampleState, ViewState, WaitSet
    from cyclonedds.domain import DomainParticipant
    from cyclonedds.idl import IdlStruct
    from cyclonedds.idl.types import int64
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic
    from cyclonedds.util import duration

    @dataclass
    class Sample(IdlStruct, typename=TOPIC):
        number: int64
        value: float
        text: str

    participant = DomainParticipant(domain_id)
    topic = Topic(participant, TOPIC, Sample)
    qos = Qos(Policy.Reliability.Reliable(duration(seconds=60)), Policy.History.KeepAll, Policy.Durability.Volatile)
    if role == "write":
        samples = [Sample(**an_event(number, size)) for number in range(count)]
        writer = DataWriter(participant, topic, qos=qos)
        while not writer.get_matched_subscriptions():
            time.sleep(0.05)
        time.sleep(1)
        before = go()
        for sample in samples:
            writer.write(sample)
        writer.wait_for_acks(duration(seconds=120))
        done(before, count)
    else:
        reader = DataReader(participant, topic, qos=qos)
        waiting = WaitSet(participant)
        waiting.attach(ReadCondition(reader, SampleState.Any | InstanceState.Any | ViewState.Any))
        while not reader.get_matched_publications():
            time.sleep(0.05)
        time.sleep(1)
        before, seen = go(), 0
        while seen < count:
            waiting.wait(duration(seconds=120))
            for sample in reader.take(4_096):
                assert sample.number == seen
                seen += 1
        done(before, seen)
    sys.stdin.readline()


def main(arguments: list[str]) -> int:
    """Play one end."""
    stack, role, domain_id, count, size, *rest = arguments
    if stack == "cyclone":
        cyclone(role, int(domain_id), int(count), int(size))
    elif role == "write":
        asyncio.run(rookery_write(int(domain_id), int(count), int(size)))
    else:
        where, overflow = (*rest, "", "")[:2]
        asyncio.run(rookery_read(int(domain_id), int(count), where or None, overflow or "drop-oldest"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
