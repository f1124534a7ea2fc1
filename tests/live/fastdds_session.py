"""Our client and a Fast DDS participant, alone in a network namespace without multicast; prints one JSON line.

Fast DDS has this host in its `initialPeersList`, and we name nobody. It subscribes to `quotes` with a filter and
publishes `back`; we publish the one and subscribe to the other, of which we learn the type first. A subscription with
a type that does not fit is refused. Run under `unshare --net`, with the path of the peer.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from typing import Any

import rookery
from rookery.live.dds import DdsOptions, DdsReaderOptions, DdsWriterOptions
from rookery.participant.event_types import event_type

COUNT = 1_000
QUOTES = rookery.Schema(symbol=str, price=float, size=int)
WRONG = rookery.Schema(symbol=str, price=int, size=int)


def _warnings() -> list[str]:
    """Return a list that the warnings of DDS are put into."""
    found: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("rookery.live").addHandler(handler)
    return found


async def main(peer: str) -> dict[str, Any]:
    """Meet, exchange, and return what each got."""
    found: dict[str, Any] = {}
    refused = _warnings()
    async with rookery.open("dds://0", DdsOptions(multicast=False)) as client:
        client.advertise("quotes", schema=QUOTES, dds=DdsWriterOptions(type_name="Quote"))
        other = await asyncio.create_subprocess_exec(
            peer, "price < 10", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert other.stdin is not None
        assert other.stdout is not None

        async def ask(words: str) -> Any:
            other.stdin.write(f"{words}\n".encode())  # type: ignore[union-attr]
            return json.loads(await other.stdout.readline())  # type: ignore[union-attr]

        assert (await other.stdout.readline()).strip() == b"ready"
        began = time.monotonic()
        learned = await client.dds.learn("back", seconds=600)
        found["learned"] = event_type(learned, type_name=learned.name).schema.to_dict()
        async with client.subscribe("back", "price < 5", overflow="wait", schema=learned) as some:
            await client.dds.wait_for_readers("quotes")
            while await ask("matched") != [1, 1]:
                await asyncio.sleep(0.01)
            found["seconds to match"] = round(time.monotonic() - began, 2)
            for number in range(COUNT):
                client.publish("quotes", {"symbol": "ours", "price": float(number % 100), "size": number})
            await client.flush("quotes", seconds=600)
            wanted = [number for number in range(COUNT) if number % 100 < 10]
            found["theirs"] = await ask("got")
            while len(found["theirs"]) < len(wanted):
                await asyncio.sleep(0.01)
                found["theirs"] = await ask("got")
            await ask(f"write {COUNT}")
            found["ours"] = [(await anext(aiter(some)))["size"] for _ in range(5)]
        # Fast DDS takes any type of that name; who does not is this side.
        options = DdsReaderOptions(type_name="Quote")
        async with client.subscribe("back", overflow="wait", schema=WRONG, dds=options):
            while not refused:
                await asyncio.sleep(0.01)
            found["refused"] = refused[0]
        other.stdin.close()
        await other.wait()
        found["bytes out"] = client.dds.udp.participant.counters["bytes_out"]
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1]))))  # noqa: T201
