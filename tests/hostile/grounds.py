"""Where attacks take place: two brokers with real ports, an honest publisher and subscriber, and a stranger.

Three kinds: `open` has neither keys nor certificates; in the others brokers and clients have certificates, and the
stranger has none (`no key`) or a client's (`certificate`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live.broker_fleet import SCHEMA, SPACE

import rookery
from rookery import BrokerOptions, Client
from rookery.brokers.configuration import BrokerDurability
from rookery.errors import JoinError
from rookery.live.authority import Authority
from rookery.live.brokers.server import LiveBroker
from rookery.live.brokers.settings import BrokerSettings
from rookery.live.credentials import Credentials
from rookery.live.rights import Rights
from rookery.papers.loopback import free_port
from rookery.space.notation import read_space

from .attacks import Stranger

HOST = "127.0.0.1"
KINDS = ("open", "no key", "certificate")


@dataclass(frozen=True, slots=True)
class Grounds:
    """Brokers, and who comes to them."""

    brokers: list[LiveBroker]
    honest: Credentials
    operator: Credentials
    stranger: Stranger

    def faults(self) -> dict[str, int]:
        """Return why links were closed, over all brokers."""
        together: dict[str, int] = {}
        for broker in self.brokers:
            for reason, count in broker.peers.settings.faults.items():
                together[reason] = together.get(reason, 0) + count
        return together

    def zones(self) -> list[Any]:
        """Return who owns what, since when."""
        return sorted(
            (owned.path, owned.ownership.epoch, broker.machine.id)
            for broker in self.brokers
            for owned in broker.machine.owned.values()
        )

    def client(self, number: int = 0, **options: Any) -> Any:
        """Open an honest client at a broker."""
        host, port = self.brokers[number].address
        return rookery.open(f"brokers://{host}:{port}", BrokerOptions(self.honest, attempts=600.0, **options))


async def _started(settings: BrokerSettings) -> LiveBroker:
    """Start a broker, and again where the one that it joins was not quick enough: the machine may be busy."""
    while True:
        broker = LiveBroker(settings)
        try:
            await broker.start()
        except JoinError as error:
            if "nobody answers" not in str(error):
                raise
        else:
            return broker


@asynccontextmanager
async def grounds(
    kind: str, folder: Path, *, rights: Rights | None = None, brokers: int = 2, **settings: Any
) -> AsyncIterator[Grounds]:
    """Start brokers; they are stopped when the block is left."""
    certified: dict[str, Credentials] = dict.fromkeys(("broker", "honest", "operator", "stranger"), Credentials())
    if kind != "open":
        authority = Authority.at(folder / "keys")
        for name in certified:
            role = {"broker": "broker", "operator": "operator"}.get(name, "client")
            files = authority.certify(name, role, hosts=[HOST] if name == "broker" else [])
            certified[name] = Credentials.read(
                certificate=files.certificate, private_key=files.private_key, authority=authority.file
            )
    started: list[LiveBroker] = []
    try:
        for number in range(brokers):
            settings_of_one = BrokerSettings(
                **{
                    "topic": "quotes",
                    "space": read_space(SPACE, SCHEMA),
                    "listen": (HOST, free_port()),
                    "join": tuple(one.address for one in started[:1]),
                    "durability": BrokerDurability.MEMORY,
                    "credentials": certified["broker"],
                    "rights": rights,
                    "beat": 2.0,
                    **settings,
                    **({"data": folder / str(number)} if "durability" in settings else {}),
                }
            )
            started.append(await _started(settings_of_one))
            while not started[-1].machine.owned:
                await asyncio.sleep(0.02)
        tls = certified["stranger"].dialing if kind == "certificate" else None
        stranger = Stranger(started[0].address, tls, must_prove=kind != "open")
        try:
            yield Grounds(started, certified["honest"], certified["operator"], stranger)
        finally:
            stranger.leave()
    finally:
        for broker in reversed(started):
            await broker.stop(leave=False)


async def honest_work(publisher: Client, subscriber: Client, *, events: int = 60) -> list[int]:
    """Publish events over both brokers' zones and take them; return the numbers of those that came."""
    got: list[int] = []
    async with subscriber.subscribe("quotes", "price >= 0", overflow="wait") as feed:
        for number in range(events):
            event = {"symbol": "S", "price": float(number * 997 % 1000), "number": number}
            await publisher.publish_many("quotes", [event])
        await publisher.flush("quotes", seconds=600)
        async for event in feed:
            got.append(event["number"])
            if len(got) >= events:
                break
    return sorted(got)
