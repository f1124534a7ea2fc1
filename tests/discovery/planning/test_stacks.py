"""Other stacks: coefficients are those of the kept runs, a capture's own bytes decide, advice can be followed."""

from __future__ import annotations

import json
import struct
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from benchmarks.stacks import SYSTEMS, amounts_of, fitted, main, system

from rookery.discovery.planning import make_plan, read_capture, read_topology
from rookery.discovery.planning.loads import ProtocolLoads
from rookery.discovery.planning.observed import Observation
from rookery.discovery.planning.plan import DiscoveryPlan
from rookery.discovery.planning.stacks import STACKS, StackTerms, fit_stack, stack_cost, stack_of
from rookery.discovery.planning.verdict import SMALL
from rookery.errors import TopologyError
from rookery.rtps import QualityOfService, Reliability
from rookery.simulated.domain import SimulatedNetwork, conditions_between

from .test_captures import classic, ipv4

CASES = Path(__file__).parents[2] / "cases" / "discovery"
TOPOLOGIES = Path(__file__).parents[4] / "shared" / "data" / "topologies"
RUNS: list[dict[str, Any]] = json.loads((CASES / "stacks.json").read_text())
SHOWN: list[dict[str, Any]] = json.loads((CASES / "stacks_shown.json").read_text())
CYCLONE, FAST, CONNEXT = b"\x01\x10", b"\x01\x0f", b"\x01\x01"


@pytest.mark.parametrize("stack", STACKS.values(), ids=lambda stack: stack.name)
def test_the_coefficients_are_those_of_the_kept_runs(stack: Any) -> None:
    surplus, start, steady = fitted(RUNS, stack.name)
    assert {run["system"] for run in RUNS if run["stack"] == stack.name} == set(SYSTEMS)
    assert stack.surplus == surplus
    assert stack.start.row() == pytest.approx(start.row(), rel=2e-3)
    assert stack.per_minute.row() == pytest.approx(steady.row(), rel=2e-3)


@pytest.mark.parametrize("run", SHOWN, ids=lambda run: f"{run['stack']}-{run['system'][:10]}")
@pytest.mark.real
@pytest.mark.skipif(not TOPOLOGIES.is_dir(), reason="the real topologies are not beside the checkout")
def test_real_systems_that_were_not_fitted_are_predicted_and_judged_alike(run: dict[str, Any]) -> None:
    topology = read_topology((TOPOLOGIES / run["system"]).read_bytes(), name=run["system"])
    stack = STACKS[run["stack"]]
    predicted = stack_cost(stack, ProtocolLoads(topology).load("simple")).octets
    assert predicted == pytest.approx(sum(run["start"]), rel=0.20)
    seen = Observation(
        start_octets=dict(
            zip(("announcements", "answers", "contacts", "records", "matches"), run["start"], strict=True)
        )
    )
    measured = make_plan(topology, stack=stack.name, observation=seen).verdict
    planned = make_plan(topology, stack=stack.name).verdict
    assert measured.protocol == planned.protocol


def test_a_stack_without_runs_has_no_coefficients_and_exact_ones_are_found_again() -> None:
    truth = StackTerms(participants=900, pairs=2_000, once=1.5, each=0.25, tellings=70, crowded=0.5, matched=150)
    amounts = [amounts_of({"system": name, "stack": "cyclone"}, 100) for name in SYSTEMS]
    runs = []
    for each in amounts:
        parts = {
            "announcements": truth.participants * each.participants + truth.pairs * each.pairs,
            "contacts": truth.tellings * each.tellings + truth.crowded * each.crowded,
            "records": truth.once * each.once + truth.each * each.each,
            "matches": truth.matched * each.matched,
            "per_minute": 0.0,
        }
        runs.append((each, parts))
    start, steady = fit_stack(runs)
    assert start.row() == pytest.approx(truth.row(), rel=1e-6, abs=1e-6)
    assert steady.row() == [0.0] * 8


def test_a_stack_is_known_by_its_vendor_and_by_where_its_records_go() -> None:
    assert stack_of(CYCLONE, multicast=True) is STACKS["cyclone"]
    assert stack_of(CYCLONE, multicast=False) is STACKS["cyclone_unicast"]
    assert stack_of(FAST, multicast=False) is STACKS["fastdds"]
    assert stack_of(CONNEXT, multicast=False) is None
    assert stack_of(None, multicast=False) is None


@cache
def start_of_a_ring() -> list[bytes]:
    """Return what eight participants of Rookery send while they start."""
    network, sent = SimulatedNetwork(3, conditions_between(50, 1_000)), list[bytes]()
    network.on_datagram = lambda _, datagram, to: sent.append(datagram)
    _join(network, system("ring 8 10"), "simple")
    network.run(2_000_000)
    return sent


def _join(network: SimulatedNetwork, topology: Any, protocol: str) -> None:
    qos = QualityOfService(reliability=Reliability.RELIABLE)
    for who in topology.participants:
        member = network.join(discovery=protocol)
        for end in who.endpoints:
            make = member.participant.create_writer if end.kind == "W" else member.participant.create_reader
            make(end.topic, type_name=end.type_name, qos=qos, keyed=False, now=member.now)
        member.flush()


def captured(vendor: bytes | None, *, times: int, multicast: bool) -> DiscoveryPlan:
    """Plan from a capture in which a vendor's nodes say everything so many times."""
    topology, seen = read_capture(capture_of(vendor, times=times, multicast=multicast))
    assert len(topology.participants) == 8
    return make_plan(topology, observation=seen)


def capture_of(vendor: bytes | None, *, times: int, multicast: bool) -> bytes:
    """Return the capture."""
    group, frames = bytes((239, 255, 0, 1)), []
    for payload in start_of_a_ring() * times:
        named = payload[:6] + (vendor or payload[6:8]) + payload[8:]
        frame = ipv4(named)
        frames.append(frame if multicast else frame.replace(group, bytes((127, 0, 0, 1)), 1))
    return classic(frames, 101)


def test_the_bytes_of_a_capture_decide_and_not_what_was_planned() -> None:
    once, often = captured(None, times=1, multicast=False), captured(None, times=12, multicast=False)
    assert once.views["unicast"].costs["simple"].octets == often.views["unicast"].costs["simple"].octets < SMALL
    assert once.verdict.protocol == "simple"
    assert once.verdict.text.startswith("No change is worth it")
    assert often.verdict.protocol in ("ribbon", "bloom", "cuckoo", "hashes", "tree")
    assert often.verdict.text.startswith("Use ")


@pytest.mark.parametrize(("times", "agreed"), [(1, "the same verdict"), (12, "ANOTHER verdict")])
def test_a_plan_is_held_against_a_capture(
    times: int, agreed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = tmp_path / "ring.pcap"
    capture.write_bytes(capture_of(CYCLONE, times=times, multicast=False))
    assert main(["--judge", str(capture), "--stacks", "cyclone_unicast", "--systems", "ring 8 10"]) == 0
    told = capsys.readouterr().out
    seen, planned = (int(told.split(" bytes seen")[0].split()[-1].replace(",", "")), _planned("ring 8 10"))
    assert f"{planned:,} planned ({planned / seen - 1:+.1%}), {agreed}" in told


def _planned(name: str) -> int:
    return stack_cost(STACKS["cyclone_unicast"], ProtocolLoads(system(name)).load("simple")).octets


def test_each_stack_is_told_what_its_owner_can_do() -> None:
    unicast = captured(CYCLONE, times=12, multicast=False)
    assert unicast.stack is STACKS["cyclone_unicast"]
    assert unicast.verdict.protocol == "multicast"
    assert "<AllowMulticast>true</AllowMulticast>" in unicast.verdict.apply[0]
    already = captured(CYCLONE, times=12, multicast=True)
    assert already.stack is STACKS["cyclone"]
    assert already.verdict.protocol == "simple"
    assert already.verdict.text.startswith("Nothing for this stack")
    fast = captured(FAST, times=12, multicast=False)
    assert (fast.stack, fast.verdict.protocol) == (STACKS["fastdds"], "server")
    assert "ROS_DISCOVERY_SERVER" in fast.verdict.apply[0]
    other = captured(CONNEXT, times=12, multicast=False)
    assert other.stack is None
    assert other.verdict.text.startswith("Nothing for this stack: discovery of RTI Connext cost")
    for plan in (unicast, already, fast, other):
        assert "rookery gateway" in plan.verdict.apply[-1]
        assert "ribbon" not in plan.verdict.text or "cannot speak it" in plan.verdict.text
    assert captured(CONNEXT, times=1, multicast=False).verdict.text.startswith("No change is worth it")


def test_what_a_capture_shows_of_samples_is_not_the_price_of_discovery() -> None:
    prefix = bytes(range(12))
    header = b"RTPS\x02\x05\x01\x10" + prefix

    def heartbeat(first: int, last: int) -> bytes:
        body = struct.pack("<IIiIiII", 0x0107, 0x0103 << 8 | 3, 0, first, 0, last, 1)
        return header + struct.pack("<BBH", 0x07, 1, len(body)) + body

    seen = Observation()
    seen.take(heartbeat(1, 0))
    found = seen.octets["matches"]
    assert found == len(heartbeat(1, 0))
    seen.take(heartbeat(1, 5))
    assert seen.octets["matches"] == found
    assert seen.octets["samples"] == len(heartbeat(1, 5))


def test_the_start_and_the_minute_after_are_told_apart() -> None:
    seen, payload = Observation(), start_of_a_ring()[0]
    for second in range(71):
        seen.take(payload, time=1_000_000 * second)
    assert seen.start_bytes == 10 * len(payload)
    assert seen.per_minute == pytest.approx(61 * len(payload))
    assert seen.seconds == 70
    short = Observation()
    short.take(payload, time=5)
    assert short.per_minute is None


@pytest.mark.parametrize("protocol", ["simple", "ribbon", "hashes"])
def test_a_minute_of_participants_that_know_each_other_costs_what_is_planned(protocol: str) -> None:
    topology = system("cells 6 40")
    network, seen = SimulatedNetwork(1, conditions_between(50, 1_000)), Observation()
    network.on_datagram = lambda _, datagram, to: seen.take(datagram, time=network.calendar.now)
    _join(network, topology, protocol)
    network.run(70_000_000)
    planned = make_plan(topology, protocols=[protocol]).views["unicast"].costs[protocol]
    assert planned.octets_per_minute == pytest.approx(seen.per_minute, rel=0.05)
    assert planned.octets == pytest.approx(seen.start_bytes, rel=0.10)


def test_a_stack_that_is_named_is_planned_for_and_any_other_name_is_refused() -> None:
    topology = system("cells 16 12")
    assert make_plan(topology, stack="rookery").stack is None
    plan = make_plan(topology, stack="fastdds")
    assert plan.document()["stack"] == "fastdds"
    assert plan.verdict.protocol == "server"
    with pytest.raises(TopologyError, match="choose from rookery, cyclone_unicast"):
        make_plan(topology, stack="zenoh")
