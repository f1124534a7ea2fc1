"""A live broker network, recorded: each broker is asked what it holds, and its neighbors are asked next.

Nobody has a list of all brokers. Zones tile the space and every broker names the owners of the zones around its own, so
whoever asks one and then its neighbors has asked them all. With `examples` the page subscribes to everything, and shows
the events as a client gets them; that is a client's load on the brokers, so it has to be asked for.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable
from typing import Any

import msgspec

from rookery.errors import RookeryError
from rookery.live.brokers.client import BrokerOptions
from rookery.live.client import Client
from rookery.live.credentials import Credentials
from rookery.live.opening import open as open_client
from rookery.model import Schema
from rookery.space.axes import Axis, EventSpace
from rookery.space.zones import ZoneBox, contains
from rookery.web import records
from rookery.web.recorder import Recorder
from rookery.web.records import name

__all__ = ["RecordedBrokerNetwork", "ask_all", "watch_brokers"]

#: Seconds between two rounds of asking, and how long one broker has for its answer.
PERIOD = 1.0
PATIENCE = 3.0
MOST_BROKERS = 2_000
#: Brokers that are asked at the same time.
AT_ONCE = 16
_NO_CREDENTIALS = Credentials()


async def ask_all(entry: str, credentials: Credentials = _NO_CREDENTIALS) -> dict[str, dict[str, Any]]:
    """Return the status of every broker that can be reached from one."""
    answers: dict[str, dict[str, Any]] = {}
    asked = {entry}
    waiting = [entry]
    while waiting and len(asked) < MOST_BROKERS:
        batch, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
        for answer in await asyncio.gather(*(_ask(address, credentials) for address in batch)):
            if answer is None:
                continue
            answers[answer["broker"]] = answer
            around = itertools.chain.from_iterable(zone["neighbors"].values() for zone in answer["zones"])
            fresh = [address for address in dict.fromkeys(around) if address not in asked]
            asked.update(fresh)
            waiting += fresh
    return answers


async def _ask(address: str, credentials: Credentials) -> dict[str, Any] | None:
    """Ask one broker; None where it does not answer, which its neighbors will notice too."""
    try:
        options = BrokerOptions(credentials, attempts=PATIENCE)
        async with asyncio.timeout(PATIENCE), open_client(f"brokers://{address}", options) as client:
            return await client.brokers.status()
    except (RookeryError, TimeoutError, OSError):
        return None


class RecordedBrokerNetwork:
    """What was recorded of the zones, so that only changes are."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._zones: dict[str, records.ZoneRecord] = {}
        #: By zone and owner: the events that it had seen, and when.
        self._seen: dict[tuple[str, str], tuple[int, int]] = {}
        self._schema: Schema | None = None
        self._space: EventSpace | None = None
        self._carried = 0
        self._count = 0

    def report(self, answers: Iterable[dict[str, Any]]) -> None:
        """Record the zones that changed."""
        at = self._recorder.clock()
        now: dict[str, records.ZoneRecord] = {}
        counted: dict[tuple[str, str], tuple[int, int]] = {}
        carried = self._carried
        for answer in answers:
            self._place(answer["axes"])
            place = answer["network"]
            for zone in answer["zones"]:
                box = zone["box"]
                counted[zone["path"], answer["broker"]] = zone["events"], at
                carried += self._more(zone["path"], zone["events"])
                seen = records.ZoneRecord(
                    at=0,
                    id=zone["path"] or "all",
                    lower=tuple(low for low, _ in box.values()),
                    upper=tuple(high for _, high in box.values()),
                    owner=answer["broker"],
                    load=zone["events"] + zone["subscriptions"],
                    subscriptions=zone["subscriptions"],
                    rate=self._rate(zone["path"], answer["broker"], zone["events"], at),
                    backlog=answer["in_flight"]["events"],
                    takeovers=answer["counters"].get("taken over", 0),
                    coordinates=tuple(place["coordinates"]),
                    error=place["error"],
                    stretch=place["stretch"],
                )
                now[seen.id] = seen
        for gone in self._zones.keys() - now.keys():
            self._recorder.write(records.ZoneRecord(at=at, id=gone, lower=(), upper=(), gone=True))
        for key, seen in now.items():
            if self._zones.get(key) != seen:
                self._recorder.write(msgspec.structs.replace(seen, at=at))
        if carried != self._carried:
            self._recorder.write(records.CarriedRecord(at=at, events=carried))
        self._zones, self._seen, self._carried = now, counted, carried

    def _more(self, path: str, events: int) -> int:
        """Return the events that a zone has seen since the last look.

        Whoever gets a zone may get its count with it or begin at 0. A zone that was not there before is a part of one
        that was, or several: what it has seen was counted there.
        """
        before = max((count for (known, _), (count, _) in self._seen.items() if known == path), default=None)
        if before is None:
            return 0 if self._seen else events
        return events - before if events >= before else events

    def _rate(self, path: str, owner: str, events: int, at: int) -> float | None:
        """Return the events a second since the last look; None where the zone was another one, or another's, then."""
        before, when = self._seen.get((path, owner), (0, at))
        return (events - before) * 1e6 / (at - when) if at > when and events >= before else None

    def began(self, client: Client) -> None:
        """Record the schema of the topic."""
        brokers = client.brokers
        self._schema = brokers.schema
        if brokers.schema is not None:
            attributes = brokers.schema.to_dict()
            self._recorder.write(
                records.SchemaRecord(at=self._recorder.clock(), attributes=attributes, topic=name(brokers.topic))
            )

    def example(self, topic: str, event: dict[str, Any]) -> None:
        """Record an event as a client got it, where it lies and whose it was."""
        self._count += 1
        point = () if self._space is None else self._space.point(event)
        owners = (
            key for key, zone in self._zones.items() if point and contains(ZoneBox(zone.lower, zone.upper), point)
        )
        self._recorder.write(
            records.EventRecord(
                at=self._recorder.clock(),
                id=str(self._count),
                topic=name(topic),
                point=point,
                zone=next(owners, ""),
                values=event,
            )
        )

    def _place(self, axes: list[list[Any]]) -> None:
        """Record the space, when it is first known."""
        if self._space is None and self._schema is not None:
            self._space = EventSpace(self._schema, [Axis.read(axis) for axis in axes])
            named = tuple(records.AxisRecord(name(axis.attribute), axis.low, axis.high) for axis in self._space.axes)
            self._recorder.write(records.SpaceRecord(at=self._recorder.clock(), axes=named))


async def watch_brokers(
    recorder: Recorder, *, entry: str, credentials: Credentials = _NO_CREDENTIALS, examples: bool = False
) -> None:
    """Record a broker network until cancelled; the first broker must answer."""
    network = RecordedBrokerNetwork(recorder)
    async with open_client(f"brokers://{entry}", BrokerOptions(credentials)) as client:
        network.began(client)
        taking = asyncio.ensure_future(_take(client, network)) if examples else None
        try:
            while True:
                network.report((await ask_all(entry, credentials)).values())
                if taking is not None and taking.done():
                    taking.result()
                await asyncio.sleep(PERIOD)
        finally:
            if taking is not None:
                taking.cancel()
                await asyncio.gather(taking, return_exceptions=True)


async def _take(client: Client, network: RecordedBrokerNetwork) -> None:
    topic = client.brokers.topic
    async with client.subscribe(topic, overflow="wait") as events:
        async for event in events:
            network.example(topic, event)
