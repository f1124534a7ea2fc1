"""The status of a live broker: what users read as `rookery broker status --json`."""

from __future__ import annotations

import asyncio

from tests.live.broker_fleet import SCHEMA, SPACE

import rookery
from rookery.brokers.configuration import BrokerDurability
from rookery.papers.loopback import loopback_brokers
from rookery.space.notation import read_space


def test_two_brokers_name_each_other_and_what_is_in_flight() -> None:
    async def scenario() -> None:
        space = read_space(SPACE, SCHEMA)
        settings = {"topic": "quotes", "space": space, "durability": BrokerDurability.MEMORY, "beat": 1.0}
        async with (
            loopback_brokers(2, **settings) as brokers,
            rookery.open(f"brokers://{','.join(brokers)}", rookery.BrokerOptions(attempts=600.0)) as client,
            client.subscribe("quotes", "price >= 0", overflow="wait") as events,
        ):
            for number in range(3):
                client.publish("quotes", {"symbol": "a", "price": 1.0, "number": number})
            await client.flush("quotes", seconds=600)
            assert (await anext(events))["number"] == 0
            found = {}
            for address in brokers:
                async with rookery.open(f"brokers://{address}", rookery.BrokerOptions(attempts=600.0)) as one:
                    found[address] = await one.brokers.status()
            first, second = (found[address] for address in brokers)
            assert (first["broker"], second["broker"]) == tuple(brokers)
            assert [zone["path"] for one in (first, second) for zone in one["zones"]] == ["0", "1"]
            assert first["zones"][0]["neighbors"] == {"1": brokers[1]}
            assert not first["zones"][0]["in_grace_period"]
            assert sum(one["in_flight"]["events"] for one in (first, second)) == 3, "the program has not done with it"
            assert sum(one["subscriptions_of_clients"] for one in (first, second)) == 1
            assert (first["log"], first["replicas"], first["orphans"], first["durability"]) == (
                None,
                {},
                0,
                "memory",
            )

    asyncio.run(asyncio.wait_for(scenario(), 1_800))
