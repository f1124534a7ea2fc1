"""Discovery on the wire: bytes and packets of real Cyclone DDS beside Rookery with each protocol.

    python -m benchmarks discovery                                  everything, about ten minutes
    python -m benchmarks discovery --sizes 2,4,8 --runs 5 --json    what the planner's constants are fitted to
    python -m benchmarks discovery --fleet 200 --sizes ''           200 participants of 20 endpoints, simulated and live

Each scene runs in a network namespace of its own (needs root, `unshare` and `ip`), with the same lease (10 s), the same
period of announcements (8 s) and the same window (10 s from the instant at which all begin). Cyclone DDS has a process
for each participant, since two in one process exchange nothing on the wire; Rookery's participants share one process
and exchange everything. Bytes are UDP payloads, counted where they are sent.

*ring*: half of the endpoints write topics of their own, half read those of the next participant. *disjoint*: nobody
reads what anybody writes. *dense*: everyone writes and reads the same topics.

With `--json` one object is written:

    {"benchmark": "discovery", "version": 1,
     "window_seconds": 10.0, "lease_seconds": 10, "period_seconds": 8, "type_name": "bench::Datum",
     "scenes": [{"run": 0, "implementation": "rookery" | "cyclone",
                 "protocol": "simple" | "bloom" | "tree" | "cuckoo" | "ribbon" | "hashes"        for rookery
                             | "unicast" | "multicast"                                            for cyclone's SEDP
                 "shape": "ring" | "disjoint" | "dense", "participants": 16, "endpoints": 10,
                 "packets": 312, "bytes": 62300,
                 "seconds": 0.4,            until every endpoint had all its partners; null for disjoint
                 "missing": 0,              partners that were never found
                 "cpu_seconds": 0.8,        of Rookery's processes from the start to the end; null for cyclone
                 "complete": true,          whether the capture has every datagram that the kernel counted
                 "submessages": {"announcements" | "records" | "builtin_control" | "user_control" | "samples":
                                 {"count": …, "bytes": …}}}],
     "ratios": {"disjoint": 0.01, "ring_unicast": 0.04, "ring_multicast": 0.11},   ribbon's share at the largest size
     "fleet": {"participants": 200, "endpoints": 20, "processes": 4, "live_seconds": …, "live_missing": 0,
               "simulated_seconds": …, "simulated_missing": 0}}                    absent without --fleet

The topics of participant `index` are `Scene(shape, participants, endpoints).topics(index)` of
`benchmarks/discovery_peers.py`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

from benchmarks.discovery_peers import LEASE_SECONDS, PERIOD_SECONDS, TYPE_NAME, Scene
from benchmarks.discovery_scene import in_a_namespace

__all__ = ["main"]

_PROTOCOLS = ("simple", "bloom", "tree", "cuckoo", "ribbon", "hashes")
_CYCLONE = ("unicast", "multicast")
_FLEET_PROCESSES = 4
_SECOND = 1_000_000


def play(
    implementation: str, protocol: str, scene: Scene, *, seconds: float, processes: int | None = None
) -> dict[str, Any]:
    """Play a scene in a namespace of its own and return what was measured."""
    count = scene.participants
    workers = processes or (count if implementation == "cyclone" else 1)
    command = [sys.executable, "-m", "benchmarks.discovery_scene", implementation, scene.shape, str(count)]
    command += [str(scene.endpoints), protocol, str(seconds), str(workers)]
    done = subprocess.run(in_a_namespace(*command), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{implementation} {protocol} {scene}: {done.stderr}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def play_all(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Play every scene; Rookery's, which are light, beside each other."""
    measured: list[dict[str, Any]] = []
    for run in range(arguments.runs):
        for shape in arguments.shapes:
            for size in arguments.sizes:
                scene = Scene(shape, size, arguments.endpoints)
                began = len(measured)
                with ThreadPoolExecutor(len(arguments.protocols) or 1) as pool:
                    plays = [
                        pool.submit(play, "rookery", protocol, scene, seconds=arguments.seconds)
                        for protocol in arguments.protocols
                    ]
                    measured += [each.result() for each in plays]
                for mode in arguments.cyclone:
                    measured.append(play("cyclone", mode, scene, seconds=arguments.seconds))
                for result in measured[began:]:
                    result["run"] = run
                    print(_line(result), file=sys.stderr)
    return measured


def _line(result: dict[str, Any]) -> str:
    met = "" if result["seconds"] is None else f", all met after {result['seconds']:.2f} s"
    flaws = f", {result['missing']} MISSING" * bool(result["missing"]) + ", capture INCOMPLETE" * (
        not result["complete"]
    )
    name = f"{result['implementation']} {result['protocol']}"
    where = f"{result['shape']} {result['participants']}"
    return f"{where:12} {name:20} {result['packets']:7,} packets {result['bytes']:10,} B{met}{flaws}"


def typical(measured: list[dict[str, Any]], **wanted: Any) -> float | None:
    """Return the median of the bytes of some scenes."""
    found = [each["bytes"] for each in measured if all(each[name] == value for name, value in wanted.items())]
    return median(found) if found else None


def ratios(measured: list[dict[str, Any]], size: int) -> dict[str, float]:
    """Return ribbon's share of what Cyclone sends, where both were measured."""
    found = {}
    for name, shape, mode in (
        ("disjoint", "disjoint", "unicast"),
        ("ring_unicast", "ring", "unicast"),
        ("ring_multicast", "ring", "multicast"),
    ):
        ours = typical(measured, shape=shape, participants=size, protocol="ribbon")
        theirs = typical(measured, shape=shape, participants=size, protocol=mode)
        if ours is not None and theirs:
            found[name] = ours / theirs
    return found


def table(measured: list[dict[str, Any]], arguments: argparse.Namespace) -> str:
    """Return bytes and packets by shape, size and who, in Markdown."""
    lines = []
    for shape in arguments.shapes:
        lines += ["", f"| {shape} | " + " | ".join(f"N = {size}" for size in arguments.sizes) + " |"]
        lines.append("|---" * (1 + len(arguments.sizes)) + "|")
        names = [("cyclone", mode) for mode in arguments.cyclone] + [("rookery", p) for p in arguments.protocols]
        for implementation, protocol in names:
            cells = []
            for size in arguments.sizes:
                chosen = {"shape": shape, "participants": size, "protocol": protocol, "implementation": implementation}
                packets = [
                    each["packets"] for each in measured if all(each[key] == value for key, value in chosen.items())
                ]
                cells.append(f"{typical(measured, **chosen) or 0:,.0f} B, {median(packets):,.0f}")
            lines.append(f"| {implementation} {protocol} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def fleet(participants: int, endpoints: int) -> dict[str, Any]:
    """Let a large ring meet, live in a few processes and in the simulator."""
    scene = Scene("ring", participants, endpoints)
    live = play("rookery", "ribbon", scene, seconds=10.0, processes=_FLEET_PROCESSES)
    began = time.perf_counter()
    simulated_seconds, simulated_missing = _simulate(scene)
    return {
        "participants": participants,
        "endpoints": endpoints,
        "processes": _FLEET_PROCESSES,
        "live_seconds": live["seconds"],
        "live_missing": live["missing"],
        "live_packets": live["packets"],
        "live_bytes": live["bytes"],
        "live_cpu_seconds": live["cpu_seconds"],
        "simulated_seconds": simulated_seconds,
        "simulated_missing": simulated_missing,
        "simulation_took_seconds": time.perf_counter() - began,
    }


def _simulate(scene: Scene) -> tuple[float, int]:
    from rookery.rtps import QualityOfService, Reliability
    from rookery.simulated.domain import SimulatedNetwork, conditions_between

    qos = QualityOfService(reliability=Reliability.RELIABLE)
    network = SimulatedNetwork(1, conditions_between(50, 500))
    members = []
    for index in range(scene.participants):
        member = network.join(lease=LEASE_SECONDS * _SECOND, period=PERIOD_SECONDS * _SECOND, discovery="ribbon")
        written, read = scene.topics(index)
        for name in written:
            member.participant.create_writer(name, TYPE_NAME, qos, keyed=False, now=member.now)
        for name in read:
            member.participant.create_reader(name, TYPE_NAME, qos, keyed=False, now=member.now)
        member.flush()
        members.append(member)

    def missing() -> int:
        return sum(
            max(0, scene.partners - len(member.participant.matched(endpoint.guid)))
            for member in members
            for endpoint in member.participant.local_endpoints
        )

    while missing() and network.calendar.now < 60 * _SECOND:
        network.run(_SECOND // 20)
    return network.calendar.now / _SECOND, missing()


def main(arguments: list[str]) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks discovery", description=__doc__.partition("\n")[0])
    listed = lambda text: [part for part in text.split(",") if part]  # noqa: E731
    parser.add_argument("--sizes", type=lambda text: [int(part) for part in listed(text)], default=[2, 4, 8, 16])
    parser.add_argument("--shapes", type=listed, default=["ring", "disjoint", "dense"])
    parser.add_argument("--protocols", type=listed, default=list(_PROTOCOLS))
    parser.add_argument("--cyclone", type=listed, default=list(_CYCLONE), help="unicast, multicast, both, or ''")
    parser.add_argument("--endpoints", type=int, default=10, help="of each participant")
    parser.add_argument("--seconds", type=float, default=10.0, help="the window")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--fleet", type=int, default=None, help="also a ring of so many participants of 20 endpoints")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    measured = play_all(options)
    shares = ratios(measured, max(options.sizes)) if options.sizes else {}
    found: dict[str, Any] = {
        "benchmark": "discovery",
        "version": 1,
        "window_seconds": options.seconds,
        "lease_seconds": LEASE_SECONDS,
        "period_seconds": PERIOD_SECONDS,
        "type_name": TYPE_NAME,
        "scenes": measured,
        "ratios": shares,
    }
    if options.fleet:
        found["fleet"] = fleet(options.fleet, 20)
    if options.json:
        print(json.dumps(found))
        return 0
    print(table(measured, options))
    for name, share in shares.items():
        print(f"\nribbon sends {share:.1%} of what Cyclone DDS sends ({name.replace('_', ', ')} SEDP)")
    if "fleet" in found:
        print("\nfleet:", json.dumps(found["fleet"]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
