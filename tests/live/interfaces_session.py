"""One end of the test of several interfaces, a process of its own driven by JSON lines: one command in, one answer out.

    python interfaces_session.py INTERFACES [LEASE] [kept]

It reads and writes the topic `numbers`, and is a reader of its own events too. `readers N` waits for N readers, its own
among them, `write FIRST LAST` publishes the numbers of a range, `got N` waits for N numbers and returns what came,
`reached N` waits for N peers and says at which hosts they are reached. With `kept` events are kept for readers
that come later, or again: a busy machine may make one miss its lease.
"""

from __future__ import annotations

import asyncio
import json
import sys

import rookery
from rookery import DdsOptions
from rookery.live.dds import DdsReaderOptions, DdsWriterOptions

#: What Cyclone DDS has as `test::Message`.
SCHEMA = rookery.Schema(number="int32", text=str)
TYPE = "test::Message"


async def main(interfaces: str, lease: str = "10", durability: str = "") -> None:
    """Answer commands until there are none."""
    loop, options = asyncio.get_running_loop(), DdsOptions(interface=interfaces, seconds_of_lease=float(lease))
    kept, got = durability == "kept", list[int]()
    reader = DdsReaderOptions(type_name=TYPE, transient_local=kept)
    writer = DdsWriterOptions(type_name=TYPE, transient_local=kept)
    async with (
        rookery.open("dds://0", options) as client,
        client.subscribe("numbers", schema=SCHEMA, dds=reader, overflow="wait") as numbers,
    ):
        client.advertise("numbers", schema=SCHEMA, dds=writer)

        async def read() -> None:
            async for event in numbers:
                got.append(event["number"])

        reading = asyncio.create_task(read())
        print(json.dumps("ready"), flush=True)  # noqa: T201
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            answer: object = None
            match line.split():
                case ["readers", count]:
                    await client.dds.wait_for_readers("numbers", count=int(count), seconds=600)
                case ["write", first, last]:
                    for number in range(int(first), int(last)):
                        client.publish("numbers", {"number": number, "text": ""})
                    await client.flush("numbers", seconds=600)
                case ["got", count]:
                    while len(got) < int(count):
                        await asyncio.sleep(0.01)
                    answer = got
                case ["reached", count]:
                    while len(peers := client.dds.udp.participant.peers) < int(count):
                        await asyncio.sleep(0.01)
                    answer = [peer.host or peer.metatraffic[0].host for peer in peers]
            print(json.dumps(answer), flush=True)  # noqa: T201
        reading.cancel()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
