"""Producers: what they record is what the product's own parts say."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from tests.domains import new_domain

import rookery
from rookery import DdsOptions, IslandOptions
from rookery.brokers.configuration import BrokerDurability
from rookery.brokers.spanhop import greedy_hop, next_hop
from rookery.live.brokers.server import LiveBroker
from rookery.live.brokers.settings import BrokerSettings
from rookery.model import Schema
from rookery.simulated.brokers import SimulatedBrokers
from rookery.space.axes import Axis, EventSpace
from rookery.space.zones import ZoneBox, contains
from rookery.web import Recorder, records
from rookery.web.producers.brokers import path_of
from rookery.web.producers.demonstration import RecordedDemonstration
from rookery.web.producers.islands import RecordedIsland
from rookery.web.producers.live_brokers import RecordedBrokerNetwork, ask_all, watch_brokers
from rookery.web.producers.simulation import PROTOCOLS, Scenario, Simulation
from rookery.web.producers.streams import record_batches
from rookery.web.records import Record
from rookery.web.state import RunState


def recorded(path: Path) -> list[Record]:
    return [records.decode(line) for line in path.read_bytes().splitlines()]


def of(found: list[Record], kind: type) -> list[Any]:
    return [record for record in found if isinstance(record, kind)]


def test_zones_tile_the_space_and_events_lie_in_theirs(run_file: Path) -> None:
    zones: dict[str, records.ZoneRecord] = {}
    inside = Counter[bool]()
    for record in recorded(run_file):
        if isinstance(record, records.ZoneRecord):
            zones.pop(record.id, None)
            if not record.gone:
                zones[record.id] = record
        elif isinstance(record, records.EventRecord) and record.zone:
            zone = zones[record.zone]
            inside[contains(ZoneBox(zone.lower, zone.upper), record.point)] += 1
    assert len(zones) == 12
    area = sum((zone.upper[0] - zone.lower[0]) * (zone.upper[1] - zone.lower[1]) for zone in zones.values())
    assert abs(area - 1) < 1e-9
    assert inside[True] > 100
    assert inside[False] == 0


def test_the_ledger_balances(run_file: Path) -> None:
    last = of(recorded(run_file), records.LedgerRecord)[-1]
    events = of(recorded(run_file), records.EventRecord)
    assert last.published == len(events) == 200
    assert last.expected == sum(event.matched for event in events) > 0
    assert last.expected - last.delivered <= sum(event.matched for event in events[-5:]), "the rest is on its way"
    assert (last.missed, last.duplicated, last.extra) == (0, 0, 0)


def test_paths_begin_at_the_publisher_and_end_at_the_owner() -> None:
    simulation = Simulation(
        Scenario(brokers=20, subscriptions=0, participants=0, grown=True), Recorder(clock=lambda: 1)
    )
    simulation.settle()
    network: SimulatedBrokers = simulation.brokers.network
    lengths = Counter[str]()
    for start in network.brokers:
        for point in ((0.1, 0.9), (0.8, 0.2), (0.5, 0.5)):
            for name, hop in (("spanhop", next_hop), ("greedy", greedy_hop)):
                zones = path_of(network, start, point, hop)
                assert zones[-1] == simulation.brokers.owner_of(point)
                assert len(set(zones)) == len(zones), "a path goes nowhere twice"
                lengths[name] += len(zones)
    assert lengths["spanhop"] > 0


def test_a_ledger_with_a_fault_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with Recorder(path, clock=lambda: 1) as recorder:
        simulation = Simulation(Scenario(brokers=4, subscriptions=0, participants=0, grown=True), recorder)
        simulation.settle()
        brokers = simulation.brokers
        brokers.subscribe(1, "all", "temperature > -100")
        brokers.run(2_000_000)
        # The zones forget it: what they match is now too little, and the oracle knows.
        for broker in brokers.network.brokers.values():
            for owned in broker.owned.values():
                for stored, _ in list(owned.store):
                    owned.store.remove(stored.subscription_id)
        brokers.publish(2, {"device": "d", "temperature": 20.0, "pressure": 100.0, "voltage": 28.0})
        brokers.run(12_000_000)
        brokers.report()
    last = of(recorded(path), records.LedgerRecord)[-1]
    assert (last.published, last.expected, last.delivered, last.missed) == (1, 1, 0, 1)


def test_participants_and_pairs_are_those_of_the_network(run_file: Path) -> None:
    found = recorded(run_file)
    participants = {one.id: one for one in of(found, records.ParticipantRecord)}
    endpoints = {one.id: one for one in of(found, records.EndpointRecord)}
    edges = of(found, records.EdgeRecord)
    assert (len(participants), len(endpoints)) == (12, 24)
    expected = {
        (writer.id, reader.id)
        for writer in endpoints.values()
        for reader in endpoints.values()
        if (writer.role, reader.role) == ("writer", "reader")
        and writer.topic == reader.topic
        and participants[writer.participant].island == participants[reader.participant].island
    }
    assert {(edge.writer, edge.reader) for edge in edges} == expected
    partners = {frozenset((edge.source, edge.target)) for edge in edges if edge.source != edge.target}
    for one in participants.values():
        assert one.contacts == 3
        assert one.false_contacts == 3 - sum(one.id in pair for pair in partners)
    traffic = {name: [one for one in of(found, records.TrafficRecord) if one.protocol == name] for name in PROTOCOLS}
    for costs in traffic.values():
        assert [one.octets for one in costs] == sorted(one.octets for one in costs)
    plain, summarized = (traffic[name][-1] for name in PROTOCOLS)
    assert plain.false_contacts == sum(one.false_contacts for one in participants.values())
    assert summarized.octets < plain.octets
    assert summarized.contacts - summarized.false_contacts == plain.contacts - plain.false_contacts, "nobody is missed"


def test_batches_are_recorded_once_with_the_rules_that_judged_them(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    reports = [
        SimpleNamespace(batchId=number, numInputRows=rows, durationMs={"triggerExecution": 500})
        for number, rows in enumerate((100, 0, 300))
    ]
    query = SimpleNamespace(recentProgress=reports[:2])
    with Recorder(path, clock=lambda: 1) as recorder:
        after = record_batches(recorder, query, {0: 1, 2: 2}, name="q")
        query.recentProgress = reports
        record_batches(recorder, query, {0: 1, 2: 2}, name="q", after=after)
    batches = of(recorded(path), records.BatchRecord)
    assert [(one.number, one.rows, one.rows_per_second, one.set_version) for one in batches] == [
        (0, 100, 200.0, 1),
        (2, 300, 600.0, 2),
    ]


def test_an_edit_of_the_rules_is_recorded_as_what_changed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    rules = pa.table({"subscription_id": [1, 2], "where": ["x > 1", "x > 2"], "version": [1, 1]})
    edited = pa.table({"subscription_id": [1, 2], "where": ["x > 1", "x > 3"], "version": [1, 2]})
    with Recorder(path, clock=lambda: 1) as recorder:
        demonstration = RecordedDemonstration(recorder)
        demonstration.discovered({"simple": 300, "ribbon": 100})
        demonstration.edited(rules)
        demonstration.edited(edited)
    changes = [(one.id, one.version, one.where, one.gone) for one in of(recorded(path), records.SubscriptionRecord)]
    assert [(one.protocol, one.octets) for one in of(recorded(path), records.TrafficRecord)] == [
        ("simple", 300),
        ("ribbon", 100),
    ]
    assert changes == [(1, 1, "x > 1", False), (2, 1, "x > 2", False), (2, 1, "x > 2", True), (2, 2, "x > 3", False)]


def is_shown(found: list[Record]) -> bool:
    """Whether three zones, an event in one of them and its rate are there: a busy machine takes its time for that."""
    zones = {zone.id: zone for zone in of(found, records.ZoneRecord) if not zone.gone}
    placed = any(event.zone for event in of(found, records.EventRecord))
    return placed and len(zones) == 3 and any(zone.rate for zone in of(found, records.ZoneRecord))


@pytest.mark.wire
def test_a_live_broker_network_is_asked_broker_by_broker(tmp_path: Path) -> None:
    schema = Schema.from_dict({"price": "float64", "volume": "float64"})
    space = EventSpace(schema, [Axis("price", 0, 100), Axis("volume", 0, 100)])

    def settings(port: int, *join: int) -> BrokerSettings:
        return BrokerSettings(
            "quotes",
            space,
            ("127.0.0.1", port),
            join=tuple(("127.0.0.1", each) for each in join),
            durability=BrokerDurability.MEMORY,
            beat=1.0,
            refresh=1.0,
        )

    async def test(recorder: Recorder) -> None:
        ports = free_ports(3)
        brokers = [LiveBroker(settings(ports[0])), *(LiveBroker(settings(port, ports[0])) for port in ports[1:])]
        entry = f"127.0.0.1:{ports[0]}"
        try:
            for broker in brokers:
                await broker.start()
            async with asyncio.timeout(600):
                while len(await ask_all(entry)) < 3:
                    await asyncio.sleep(0.1)
            watching = asyncio.ensure_future(watch_brokers(recorder, entry=entry, examples=True))
            async with rookery.open(f"brokers://{entry}") as client, asyncio.timeout(600):
                while not is_shown(recorded(tmp_path / "run.jsonl")):
                    client.publish("quotes", {"price": 5.0, "volume": 7.0})
                    await client.flush("quotes", seconds=600)
                    await asyncio.sleep(0.1)
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        finally:
            for broker in reversed(brokers):
                await broker.stop(leave=False)

    with Recorder(tmp_path / "run.jsonl") as recorder:
        asyncio.run(test(recorder))
    found = recorded(tmp_path / "run.jsonl")
    zones = {zone.id: zone for zone in of(found, records.ZoneRecord) if not zone.gone}
    assert len({zone.owner for zone in zones.values()}) == 3
    assert all(zone.takeovers == 0 and zone.backlog is not None for zone in zones.values())
    assert any(zone.rate for zone in of(found, records.ZoneRecord)), "events came, and the page says how many a second"
    assert [axis.attribute for axis in of(found, records.SpaceRecord)[0].axes] == ["price", "volume"]
    assert of(found, records.SchemaRecord)[0].topic == "quotes"
    event = next(event for event in of(found, records.EventRecord) if event.zone)
    assert event.values == {"price": 5.0, "volume": 7.0}
    assert event.point == space.point(event.values)
    assert contains(ZoneBox(zones[event.zone].lower, zones[event.zone].upper), event.point)


@pytest.mark.wire
def test_two_sites_record_their_participants_and_what_passes_between_them(tmp_path: Path) -> None:
    domains = [new_domain(), new_domain()]
    heard: list[Record] = []

    async def test() -> None:
        recorder = Recorder(listener=heard.append)
        (port,) = free_ports(1)
        async with (
            rookery.open("island://here", IslandOptions(listen=("127.0.0.1", port), domain_id=domains[0])) as here,
            rookery.open(f"island://there@127.0.0.1:{port}", IslandOptions(domain_id=domains[1])) as there,
            rookery.open(f"dds://{domains[0]}", DdsOptions(name="writer")) as writer,
            rookery.open(f"dds://{domains[1]}", DdsOptions(name="reader")) as reader,
            reader.subscribe("quotes", overflow="wait", schema={"price": "float64"}) as events,
        ):
            sites = [RecordedIsland(recorder, one.island) for one in (here, there)]
            writer.advertise("quotes", schema={"price": "float64"})
            async with asyncio.timeout(600):
                await writer.dds.wait_for_readers("quotes", seconds=600)
                writer.publish("quotes", {"price": 9.5})
                assert await anext(events) == {"price": 9.5}
            for site in sites:
                site.report()

    asyncio.run(test())
    islands = {one.id: one for one in of(heard, records.IslandRecord)}
    assert {site: one.joined for site, one in islands.items()} == {"here": ("there",), "there": ("here",)}
    assert all(one.octets > 0 for one in islands.values())
    named = {one.name: one.island for one in of(heard, records.ParticipantRecord)}
    assert (named["writer"], named["reader"]) == ("here", "there")


def free_ports(count: int) -> list[int]:
    """Return ports that were free a moment ago."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def test_rates_are_those_of_one_owner_between_two_looks(tmp_path: Path) -> None:
    """Totals of another owner say nothing of a second, and neither does a zone that is new."""
    now = 0

    def look(events: int, owner: str = "a:1") -> float | None:
        zone = {
            "path": "0",
            "cuts": [],
            "box": {"x": [0.0, 0.5]},
            "events": events,
            "subscriptions": 0,
            "neighbors": {},
        }
        network.report(
            [
                {
                    "broker": owner,
                    "axes": [],
                    "zones": [zone],
                    "network": {"coordinates": [1.5, -2.0], "error": 0.1, "stretch": None},
                    "in_flight": {"batches": 1, "events": 7},
                    "counters": {"taken over": 2},
                }
            ]
        )
        found = of(recorded(tmp_path / "run.jsonl"), records.ZoneRecord)[-1]
        assert (found.backlog, found.takeovers, found.coordinates, found.error) == (7, 2, (1.5, -2.0), 0.1)
        return found.rate

    with Recorder(tmp_path / "run.jsonl", clock=lambda: now) as recorder:
        network = RecordedBrokerNetwork(recorder)
        rates = []
        for now, events, owner in ((1, 100, "a:1"), (2, 150, "a:1"), (4, 250, "a:1"), (5, 40, "b:1"), (6, 60, "b:1")):
            now *= 1_000_000
            rates.append(look(events, owner))
    assert rates == [None, 50.0, 50.0, None, 20.0]
    state = RunState()
    for record in recorded(tmp_path / "run.jsonl"):
        state.apply(record)
    assert state.snapshot()["totals"]["events"] == 250 + 60
