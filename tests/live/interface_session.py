"""Two nodes on an interface that is not loopback; prints what arrived. Run in a network namespace that has `rk0`."""

from __future__ import annotations

import asyncio
import json

import rookery
from rookery import DdsOptions

SCHEMA = {"number": "int64"}


async def main() -> None:
    async with (
        rookery.open("dds://0", DdsOptions(interface="rk0")) as one,
        rookery.open("dds://0", DdsOptions(interface="rk0")) as other,
        other.subscribe("numbers", "number >= 5", overflow="wait", schema=SCHEMA) as numbers,
    ):
        one.advertise("numbers", schema=SCHEMA)
        await one.dds.wait_for_readers("numbers", seconds=600)
        for number in range(10):
            one.publish("numbers", {"number": number})
        async with asyncio.timeout(600):
            got = [(await anext(numbers))["number"] for _ in range(5)]
        address = other.dds.udp.participant.peers[0].metatraffic[0]
        networks = [str(network) for network in one.dds.udp.participant.configuration.networks.networks]
        print(json.dumps({"got": got, "host": address.host, "networks": networks}))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main())
