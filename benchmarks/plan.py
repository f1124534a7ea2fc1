"""The planner against live or simulated participants: fit on up to 8 of them, predict 16.

Each scene (ring, disjoint, dense; 2, 4, 8 and 16 participants with ten endpoints) lasts ten seconds: live, in a network
namespace of its own; simulated, under a virtual clock with seeded delays and starts spread over a tenth of a second,
which no load of the machine disturbs. The multipliers of each protocol are fitted on the scenes with up to 8
participants and printed as `constants.py` has them; the scenes with 16 are predicted, and compared with the median of
five runs.

    python -m benchmarks plan --save measured.json
    python -m benchmarks plan --simulated
    python -m benchmarks plan --load tests/cases/discovery/simulated.json
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from rookery.discovery.planning.costs import parts_of
from rookery.discovery.planning.loads import ProtocolLoads
from rookery.discovery.planning.summaries import SUMMARIES
from rookery.discovery.planning.topology import PlannedEndpoint, PlannedParticipant, Topology
from rookery.discovery.planning.traffic import Multipliers, Parts, fit_parts
from rookery.discovery.protocols import rate_among

__all__ = ["fitted", "main", "predictions"]

PROTOCOLS = ("simple", *SUMMARIES)
SHAPES = (("ring", 10), ("disjoint", 10), ("dense", 10), ("ring", 50))
SMALL, LARGE = (2, 4, 8), 16
_SECONDS = 10
#: Of the rate that summaries have in scenes of this size.
_BITS = round(-math.log2(rate_among(LARGE)))
#: Runs of each scene that is fitted, seconds before a live scene counts as failed, microseconds between starts.
_FITTED_RUNS, _PATIENCE, _SPREAD = 2, 120, 100_000


def scene_topology(shape: str, participants: int, endpoints: int) -> Topology:
    """Return what the participants of a scene have."""
    from benchmarks.discovery_peers import TYPE_NAME, Scene

    scene = Scene(shape, participants, endpoints)
    members = []
    for index in range(participants):
        written, read = scene.topics(index)
        ends = [PlannedEndpoint("W", name, TYPE_NAME) for name in written] + [
            PlannedEndpoint("R", name, TYPE_NAME) for name in read
        ]
        members.append(PlannedParticipant(str(index), tuple(ends)))
    return Topology(shape, tuple(members))


def expected(run: dict[str, Any]) -> tuple[Parts, Parts]:
    """Return octets and datagrams of a scene's parts, if everything were sent once."""
    # Runs that do not say otherwise were made when summaries had this rate; how often they are sent is the same.
    rate = 2.0 ** -run.get("bits", 11)
    return _expected(run["protocol"], run["shape"], run["participants"], run["endpoints"], rate)


@cache
def _expected(protocol: str, shape: str, participants: int, endpoints: int, rate: float) -> tuple[Parts, Parts]:
    return parts_of(ProtocolLoads(scene_topology(shape, participants, endpoints), rate=rate).load(protocol))


def fitted(runs: list[dict[str, Any]], protocol: str) -> tuple[Multipliers, Multipliers]:
    """Return the multipliers of octets and of datagrams, from the runs with few participants.

    The protocols with a summary differ in the summary alone, so they are fitted together: what one of them seems to
    send less often by itself is chance.
    """
    alike = SUMMARIES if protocol in SUMMARIES else (protocol,)
    chosen = [run for run in runs if run["protocol"] in alike and run["participants"] in SMALL]
    pairs = [(expected(run), run) for run in chosen]
    octets = fit_parts([(parts[0], Parts(*run["octets"])) for parts, run in pairs])
    datagrams = fit_parts([(parts[1], Parts(*run["datagrams"])) for parts, run in pairs])
    return octets, datagrams


def predictions(runs: list[dict[str, Any]], protocol: str) -> dict[tuple[str, int], dict[str, float]]:
    """Return, for each scene with many participants, the median of the runs and what the fit says."""
    octets, datagrams = fitted(runs, protocol)
    found: dict[tuple[str, int], dict[str, float]] = {}
    scenes = {(run["shape"], run["endpoints"]) for run in runs if run["participants"] == LARGE}
    for scene in sorted(scenes):
        same = [
            run
            for run in runs
            if (run["shape"], run["endpoints"]) == scene
            and run["participants"] == LARGE
            and run["protocol"] == protocol
        ]
        if same:
            parts = expected(same[0])
            found[scene] = {
                "runs": len(same),
                "bytes": statistics.median(run["bytes"] for run in same),
                "predicted_bytes": octets.total(parts[0]),
                "packets": statistics.median(run["packets"] for run in same),
                "predicted_packets": datagrams.total(parts[1]),
            }
    return found


def main(arguments: list[str]) -> int:
    """Measure or load runs, fit, predict, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks plan", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--protocols", nargs="+", default=list(PROTOCOLS), choices=PROTOCOLS)
    parser.add_argument("--runs", type=int, default=5, help="of each scene with 16 participants (default: 5)")
    parser.add_argument("--at-once", type=int, default=2, help="scenes that run beside each other (default: 2)")
    parser.add_argument("--simulated", action="store_true", help="under a virtual clock instead of live")
    parser.add_argument("--save", type=Path, help="write the measured runs to this file")
    parser.add_argument("--load", type=Path, help="read measured runs instead of measuring")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    given = parser.parse_args(arguments)
    if given.load:
        runs = json.loads(given.load.read_text())
    else:
        runs = measure(given.protocols, given.runs, given.at_once, simulated=given.simulated)
    if given.save:
        given.save.write_text("[\n" + ",\n".join(json.dumps(run) for run in runs) + "\n]\n")
    protocols = [name for name in given.protocols if any(run["protocol"] == name for run in runs)]
    if given.json:
        print(json.dumps(_document(runs, protocols), indent=2))
        return 0
    for name in dict.fromkeys("summary" if protocol in SUMMARIES else protocol for protocol in protocols):
        octets, datagrams = fitted(runs, SUMMARIES[0] if name == "summary" else name)
        print(f'    "{name}": Constants(')
        print(f"        {_source(octets)},\n        {_source(datagrams)},\n    ),")
    print(f"\n{'protocol':9} {'scene':12} {'runs':>4} {'bytes':>10} {'predicted':>10} {'error':>8}", end="")
    print(f" {'packets':>9} {'error':>8}")
    for protocol in protocols:
        for (shape, endpoints), row in predictions(runs, protocol).items():
            error = 100 * (row["predicted_bytes"] / row["bytes"] - 1)
            packets = 100 * (row["predicted_packets"] / row["packets"] - 1)
            print(
                f"{protocol:9} {shape + ' ' + str(endpoints):12} {row['runs']:4.0f} {row['bytes']:10,.0f} "
                f"{row['predicted_bytes']:10,.0f} {error:+6.1f} %  {row['packets']:8,.0f} {packets:+6.1f} %"
            )
    return 0


def measure(protocols: list[str], repeats: int, at_once: int, *, simulated: bool) -> list[dict[str, Any]]:
    """Play every scene; one that fails twice (a machine under load) is left out and named."""
    wanted = [
        (protocol, shape, count, endpoints, seed)
        for protocol in protocols
        for shape, endpoints in SHAPES
        for count in (*SMALL, LARGE)
        for seed in range(repeats if count == LARGE else _FITTED_RUNS)
        if endpoints == 10 or count in SMALL
    ]
    play = _simulate if simulated else _play
    with ThreadPoolExecutor(1 if simulated else at_once) as pool:
        played = pool.map(lambda scene: play(*scene), wanted)
        return [run for run in played if run is not None]


def _simulate(protocol: str, shape: str, participants: int, endpoints: int, seed: int) -> dict[str, Any]:
    from benchmarks.discovery_peers import LEASE_SECONDS, PERIOD_SECONDS
    from benchmarks.plan_scene import describe

    from rookery.rtps import QualityOfService, Reliability
    from rookery.simulated.domain import SimulatedNetwork, conditions_between

    network = SimulatedNetwork(seed, conditions_between(50, 1_000))
    sent: list[bytes] = []
    network.on_datagram = lambda _, datagram, to: sent.append(datagram)
    dice = random.Random(seed)
    starts = sorted(dice.randrange(_SPREAD) for _ in range(participants))
    qos = QualityOfService(reliability=Reliability.RELIABLE)
    for who, start in zip(scene_topology(shape, participants, endpoints).participants, starts, strict=True):
        network.run(start - network.calendar.now)
        timing = {"lease": LEASE_SECONDS * 1_000_000, "period": PERIOD_SECONDS * 1_000_000}
        member = network.join(discovery=protocol, **timing)
        for end in who.endpoints:
            make = member.participant.create_writer if end.kind == "W" else member.participant.create_reader
            make(end.topic, type_name=end.type_name, qos=qos, keyed=False, now=member.now)
        member.flush()
    network.run(_SECONDS * 1_000_000 - network.calendar.now)
    names = {"protocol": protocol, "shape": shape, "participants": participants, "endpoints": endpoints}
    return {**names, "seed": seed, "bits": _BITS, **describe(sent)}


def _play(protocol: str, shape: str, participants: int, endpoints: int, seed: int) -> dict[str, Any] | None:
    from benchmarks.discovery_scene import in_a_namespace

    scene = Path(__file__).with_name("plan_scene.py")
    settings = ("rookery", shape, participants, endpoints, protocol, _SECONDS, 1)  # on the wire even in one process
    command = in_a_namespace(sys.executable, str(scene), *map(str, settings))
    problem = ""
    for _ in range(2):
        try:
            finished = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            problem = str(error.stderr or error)[-300:]
            continue
        run: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
        kept = ("shape", "participants", "endpoints", "seconds", "missing", "complete", "packets", "bytes")
        print(f"{protocol} {shape} {participants}: {run['bytes']:,} bytes, {run['missing']} missing", file=sys.stderr)
        return {"protocol": protocol, "bits": _BITS, **{name: run[name] for name in (*kept, "octets", "datagrams")}}
    print(f"left out: {protocol} {shape} {participants}: {problem}", file=sys.stderr)
    return None


def _source(multipliers: Multipliers) -> str:
    return f"Multipliers({', '.join(f'{value:.4f}' for value in multipliers.row())})"


def _document(runs: list[dict[str, Any]], protocols: list[str]) -> dict[str, Any]:
    return {
        protocol: {
            "octets": asdict(fitted(runs, protocol)[0]),
            "datagrams": asdict(fitted(runs, protocol)[1]),
            "scenes": {f"{shape} {endpoints}": row for (shape, endpoints), row in predictions(runs, protocol).items()},
        }
        for protocol in protocols
    }


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
