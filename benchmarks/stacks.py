"""What discovery costs on other stacks: Cyclone DDS and Fast DDS play a system, live, and every datagram is kept.

Each participant of a system is a process of its own in a network namespace that has nothing but loopback; all make
their endpoints at one instant, and nobody writes a sample. The capture begins before and lasts for the start and the
steady state after it. Cyclone DDS is the Python package, by unicast (records to each peer) and by multicast (its
default); Fast DDS is what Debian has (`libfastrtps-dev`), through `fastdds_member.cpp`, built where a compiler is, as
it comes and with its discovery server (`fastdds-tools`); Rookery is played beside them for the verdict.

    python -m benchmarks stacks --save runs.json            # the systems that the multipliers are fitted on
    python -m benchmarks stacks --systems robot.json --stacks cyclone --capture robot.pcap
    python -m benchmarks stacks --judge robot.pcap --stacks cyclone --systems robot.json
    python -m benchmarks stacks --load tests/cases/discovery/stacks.json

`--judge` holds a plan of the system, made without the capture, against what the capture says: bytes and verdict.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rookery.discovery.planning import PlannedEndpoint, PlannedParticipant, Topology, make_plan, read_topology
from rookery.discovery.planning.loads import ProtocolLoads
from rookery.discovery.planning.stacks import StackTerms, fit_stack, terms_of

__all__ = ["STACKS", "amounts_of", "fitted", "main", "play", "system"]

STACKS = ("cyclone_unicast", "cyclone", "fastdds", "fastdds_server")
#: The systems that the multipliers are fitted on: none of them is one that the documentation shows.
SYSTEMS = (
    "ring 4 10",
    "ring 12 10",
    "dense 8 6",
    "dense 16 4",
    "disjoint 10 20",
    "cells 10 18",
    "cells 16 12",
    "ring 24 6",
    "cells 20 30",
    "cells 14 50",
    "disjoint 24 24",
)
START, STEADY = 10, 40
_SERVER = "127.0.0.1:11811"
_CYCLONE = (
    '<CycloneDDS><Domain Id="any"><General><Interfaces><NetworkInterface name="lo"/></Interfaces>'
    "<AllowMulticast>{multicast}</AllowMulticast></General>"
    "<Discovery><MaxAutoParticipantIndex>200</MaxAutoParticipantIndex></Discovery></Domain></CycloneDDS>"
)


def system(name: str) -> Topology:
    """Return a system by its name: a shape, how many participants, how many endpoints each; or a file."""
    if Path(name).exists():
        return read_topology(Path(name).read_bytes(), name=Path(name).name)
    shape, count, each = name.split()
    return Topology(name, tuple(_member(shape, index, int(count), int(each)) for index in range(int(count))))


def _member(shape: str, index: int, count: int, each: int) -> PlannedParticipant:
    kind, half = "plant_msgs::msg::dds_::State_", each // 2
    if shape == "dense":
        names = [f"rt/plant/shared/state_{number}" for number in range(half)]
        read = names
    elif shape == "cells":  # a service and an event that all share, and long names: as ROS 2 nodes have them
        names = [f"rt/plant/cell_{index}/controller/joint_state_{number}" for number in range(half - 2)]
        read = [name.replace(f"cell_{index}/", f"cell_{(index + 3) % count}/") for name in names]
        names, read = [*names, "rt/parameter_events", "rt/rosout"], [*read, "rt/parameter_events"]
    else:
        names = [f"rt/robot_{index}/state_{number}" for number in range(half)]
        other = (index + 1) % count if shape == "ring" else 1_000 + index
        read = [f"rt/robot_{other}/state_{number}" for number in range(half)]
    ends = [PlannedEndpoint("W", name, kind) for name in names] + [PlannedEndpoint("R", name, kind) for name in read]
    return PlannedParticipant(f"{shape}_{index}", tuple(ends))


def play(stack: str, topology: Topology, capture: Path, *, seconds: float) -> int:
    """Play a system in this namespace and capture it; return how many matches there were at the end."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, who in enumerate(topology.participants):
            files.append(Path(folder, f"{number}.tsv"))
            lines = (f"{end.kind}\t{end.topic}\t{end.type_name}\n" for end in who.endpoints)
            files[-1].write_text("".join(lines))
        watch = subprocess.Popen(
            ["tcpdump", "-i", "lo", "-B", "131072", "-U", "-w", str(capture), "udp"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert watch.stderr is not None
        while "listening" not in (said := watch.stderr.readline()):
            if not said:
                raise RuntimeError("tcpdump did not start")
        server = _server(folder) if stack == "fastdds_server" else None
        members = [_start(stack, path, folder) for path in files]
        try:
            for member in members:
                if not _line(member):
                    raise RuntimeError(f"a participant of {stack} did not start")
            for member in members:
                _say(member)
            time.sleep(seconds)
            for member in members:
                _say(member)
            return sum(int(_line(member) or 0) for member in members)
        finally:
            for member in [*members, *([server] if server else [])]:
                member.kill()
                member.wait()
            watch.terminate()
            watch.communicate()


def _start(stack: str, path: Path, folder: str) -> subprocess.Popen[str]:
    if stack.startswith("fastdds"):
        command = [str(fastdds_member()), str(path)]
    else:
        command = [sys.executable, str(Path(__file__).with_name("stacks_member.py")), stack, str(path)]
    settings = {"CYCLONEDDS_URI": _CYCLONE.format(multicast="spdp" if stack == "cyclone_unicast" else "true")}
    if stack == "fastdds_server":
        settings["ROS_DISCOVERY_SERVER"] = _SERVER
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, **settings},
    )


def _server(folder: str) -> subprocess.Popen[str]:
    """Start Fast DDS's discovery server, and wait until it listens."""
    host, port = _SERVER.split(":")
    server = subprocess.Popen(
        ["fast-discovery-server", "-i", "0", "-l", host, "-p", port], stdout=subprocess.DEVNULL, text=True, cwd=folder
    )
    while f":{int(port):04X} " not in Path("/proc/net/udp").read_text():
        if server.poll() is not None:
            raise RuntimeError("the discovery server of Fast DDS did not start")
        time.sleep(0.05)
    return server


def fastdds_member() -> Path:
    """Build the participant of Fast DDS, once; raise where there is no compiler or no library."""
    source = Path(__file__).with_name("fastdds_member.cpp")
    built = Path(tempfile.gettempdir()) / f"rookery-fastdds-member-{source.stat().st_mtime_ns}"
    if not built.exists():
        making = built.with_suffix(f".{os.getpid()}")
        libraries = ["-lfastrtps", "-lfastcdr"]
        subprocess.run(["g++", "-O1", "-std=c++14", str(source), "-o", str(making), *libraries], check=True)
        making.rename(built)
    return built


def measured(data: bytes) -> dict[str, Any]:
    """Return what a capture holds: the start and the steady state, by part."""
    from rookery.discovery.planning.observed import read_capture

    _, seen = read_capture(data)
    return {
        "start": [round(value) for value in seen.parts(start=True).row()],
        "start_packets": [round(value) for value in seen.parts(start=True, datagrams=True).row()],
        "per_minute": round(seen.per_minute),
        "seconds": round(seen.seconds, 1),
        "record_surplus": round(seen.record_surplus, 1),
    }


def amounts_of(run: dict[str, Any], surplus: float) -> StackTerms:
    """Return the amounts of the system that a run played."""
    load = ProtocolLoads(system(run["system"])).load("simple")
    return terms_of(load, surplus, served=run["stack"] == "fastdds_server")


def fitted(runs: list[dict[str, Any]], stack: str) -> tuple[float, StackTerms, StackTerms]:
    """Return what the records of a stack have beyond Rookery's, and its coefficients, from the runs of it."""
    chosen = [run for run in runs if run["stack"] == stack]
    surplus = round(statistics.median(run["record_surplus"] for run in chosen))
    pairs = []
    for run in chosen:
        announcements, answers, contacts, records, matches = run["start"]
        found = {"announcements": announcements + answers, "contacts": contacts, "records": records}
        pairs.append((amounts_of(run, surplus), {**found, "matches": matches, "per_minute": run["per_minute"]}))
    return surplus, *fit_stack(pairs)


def _report(runs: list[dict[str, Any]]) -> None:
    for stack in dict.fromkeys(run["stack"] for run in runs):
        surplus, start, steady = fitted(runs, stack)
        print(f"{stack}: surplus {surplus}\n    start  {_source(start)}\n    steady {_source(steady)}")
        for run in (run for run in runs if run["stack"] == stack):
            amounts, sent = amounts_of(run, surplus), sum(run["start"])
            errors = start.total(amounts) / sent - 1, steady.total(amounts) / run["per_minute"] - 1
            print(f"    {run['system']:16} {sent:10,} {errors[0]:+7.1%}   {run['per_minute']:10,} {errors[1]:+7.1%}")


def _judge(capture: Path, stack: str, topology: Topology) -> None:
    """Print what a plan of a system says beside what a capture of it, played on a stack, says."""
    from rookery.discovery.planning.observed import read_capture

    heard, seen = read_capture(capture.read_bytes(), name=capture.name)
    measured, planned = make_plan(heard, observation=seen), make_plan(topology, stack=stack)
    octets = planned.stacks[stack].octets
    agreed = "the same" if measured.verdict.protocol == planned.verdict.protocol else "ANOTHER"
    print(
        f"{capture.name}: {seen.start_bytes:,} bytes seen, {octets:,} planned ({octets / seen.start_bytes - 1:+.1%}), "
        f"{agreed} verdict\n    seen:    {measured.verdict.text}\n    planned: {planned.verdict.text}"
    )


def _source(terms: StackTerms) -> str:
    return f"StackTerms({', '.join(f'{value:.4g}' for value in terms.row())})"


def main(arguments: list[str]) -> int:
    """Play systems on stacks, or load what was played; say what was seen."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks stacks", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--stacks", nargs="+", default=list(STACKS), choices=(*STACKS, "ribbon", "simple"))
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS))
    parser.add_argument("--seconds", type=int, default=START + STEADY)
    parser.add_argument("--capture", type=Path, help="keep the last capture in this file")
    parser.add_argument("--save", type=Path, help="write what was measured to this file, a run after the other")
    parser.add_argument("--load", type=Path, help="fit what was measured before, and say how far the fit is off")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--judge", nargs="+", type=Path, help="captures of the one system that is named, on one stack")
    given = parser.parse_args(arguments)
    if given.judge:
        if len(given.stacks) != 1 or len(given.systems) != 1:
            parser.error("--judge needs one of --stacks and one of --systems, those of the captures")
        for path in given.judge:
            _judge(path, given.stacks[0], system(given.systems[0]))
        return 0
    if given.load:
        _report(json.loads(given.load.read_text()))
        return 0
    if not given.inside:
        from benchmarks.discovery_scene import in_a_namespace

        if not shutil.which("tcpdump"):
            parser.error("tcpdump is not here; Debian has it as `tcpdump`")
        if "fastdds" in given.stacks:
            fastdds_member()
        again = [sys.executable, "-m", "benchmarks", "stacks", "--inside", *arguments]
        return subprocess.call(in_a_namespace(*again))
    subprocess.run(["ip", "link", "set", "lo", "multicast", "on"], check=True)
    subprocess.run(["ip", "route", "add", "239.0.0.0/8", "dev", "lo"], check=False)
    runs = json.loads(given.save.read_text()) if given.save and given.save.exists() else []
    for stack in given.stacks:
        for name in given.systems:
            path = given.capture or Path(tempfile.gettempdir()) / f"rookery-stacks-{os.getpid()}.pcap"
            topology = system(name)
            matches = play(stack, topology, path, seconds=given.seconds)
            run = {"stack": stack, "system": topology.name, "matches": matches, **measured(path.read_bytes())}
            print(json.dumps(run), flush=True)
            runs.append(run)
            if given.save:
                given.save.write_text("[\n" + ",\n".join(json.dumps(run) for run in runs) + "\n]\n")
            if not given.capture:
                path.unlink()
    return 0


def _line(member: subprocess.Popen[str]) -> str:
    assert member.stdout is not None
    return member.stdout.readline().strip()


def _say(member: subprocess.Popen[str]) -> None:
    assert member.stdin is not None
    member.stdin.write("\n")
    member.stdin.flush()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
