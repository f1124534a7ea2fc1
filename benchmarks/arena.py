"""The arena: public workloads, one oracle, and the matchers of the field, each from its package registry.

    python -m benchmarks arena                       # all workloads, all peers that can be built here
    python -m benchmarks arena --workloads stock text --peers rookery quamina
    python -m benchmarks arena --write arena/        # the workloads as JSON lines, for engines that are not here

One table for each workload: events a CPU second on one core with JSON parsing in, bytes a subscription, CPU time to
build and to edit one subscription. A count that differs from the oracle's voids the cell. What is left out is said with
its reason: a toolchain or a package of data that the machine lacks, a predicate for which the arena has no notation of
that peer, more CPU time than `--limit` for a cell. Slow peers get fewer events, those that come first; the oracle
counts the same. Python peers are installed into a folder of the arena's own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.arena_flights import PackageMissingError
from benchmarks.arena_notations import NOTATIONS
from benchmarks.arena_workloads import WORKLOADS, ArenaWorkload, make, oracle_count, write_files
from benchmarks.peers import PeerMissingError, write_patterns

__all__ = ["main"]

PYTHON_PEERS = {
    "duckdb": "duckdb",
    "polars": "polars",
    "rule-engine": "rule-engine",
    "cel": "common-expression-language",
}
NATIVE_PEERS = ("event_ruler", "lucene_monitor", "quamina", "a_tree", "rsigma")
ALL = ("rookery", "rookery-row", *NATIVE_PEERS, *PYTHON_PEERS)
#: Of the events, one in so many for peers that evaluate every condition on every event.
FEWER = {"rule-engine": 50, "cel": 50, "lucene_monitor": 5, "rookery-row": 5, "a_tree": 5}
_SOURCES = Path(__file__).parent / "peers"


def main(arguments: list[str]) -> int:
    """Run the arena, print its tables, and return 1 if a count was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks arena", description=__doc__.partition("\n")[0])
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--peers", nargs="+", choices=ALL, default=list(ALL))
    parser.add_argument("--subscriptions", type=int, default=1_000)
    parser.add_argument("--events", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=300, help="seconds of CPU a cell; who needs more is left out")
    parser.add_argument("--write", type=Path, help="write the workloads as files, and stop")
    parser.add_argument("--json", type=Path, help="write every report here too")
    options = parser.parse_args(arguments)
    size = {"subscriptions": options.subscriptions, "events": options.events, "seed": options.seed}
    workloads, unmade = _make(options.workloads, size)
    if options.write:
        for workload in workloads:
            write_files(workload, options.write, options.events)
        for name, reason in unmade.items():
            print(f"left out: {name}: {reason}")
        return 0
    commands, left_out = _prepare(options.peers)
    reports: list[dict[str, Any]] = []
    print(f"{options.subscriptions:,} subscriptions, {options.events:,} events, seed {options.seed}; {_machine()}")
    for name, reason in (left_out | unmade).items():
        print(f"left out: {name}: {reason}")
    for workload in workloads:
        print(f"\n{workload.name}: {_share(workload)}\n")
        print("| peer | events a CPU second | bytes a subscription | build, µs each | edit, µs | counts |")
        print("|---|---|---|---|---|---|")
        for peer, command in commands.items():
            report = _run(peer, command, workload, options.events, options.limit)
            reports.append({"workload": workload.name, "peer": peer, **report})
            print(_row(peer, report, options.subscriptions), flush=True)
    if options.json:
        options.json.write_text(json.dumps(reports, indent=1))
    return 1 if any(report.get("void") for report in reports) else 0


def _make(names: list[str], size: dict[str, int]) -> tuple[list[ArenaWorkload], dict[str, str]]:
    """Return the workloads, and why others are left out."""
    made, unmade = [], {}
    for name in names:
        try:
            made.append(make(name, **size))
        except PackageMissingError as error:
            unmade[name] = str(error)
    return made, unmade


def _run(peer: str, command: list[str], workload: ArenaWorkload, events: int, limit: int) -> dict[str, Any]:
    """Run one peer on one workload; return its report, with `left out` or `void` where it has no cell."""
    render = NOTATIONS["rookery" if peer.startswith("rookery") else peer]
    rendered = [render(predicates) for predicates in workload.subscriptions]
    if None in rendered:
        return {"left out": "the arena has no notation for it of a predicate here"}
    count = max(events // FEWER.get(peer, 1), 20)
    with tempfile.TemporaryDirectory(prefix="rookery-arena-") as folder:
        patterns, lines = Path(folder, "patterns.jsonl"), Path(folder, "events.jsonl")
        write_patterns(patterns, [(str(number), str(text)) for number, text in enumerate(rendered)])
        lines.write_text("".join(json.dumps(event) + "\n" for event in workload.events(count)))
        try:
            report = peers.run_peer(command, patterns, lines, limit=limit)
        except PeerMissingError as error:
            return {"left out": str(error).splitlines()[-1][-120:]}
    expected = oracle_count(workload, count)
    if report["refused"]:
        report["void"] = f"{len(report['refused'])} refused: {report['refused'][0][1]}"
    elif report["matches"] != expected:
        report["void"] = f"{report['matches']:,} matches, the oracle has {expected:,}"
    return report


def _row(peer: str, report: dict[str, Any], subscriptions: int) -> str:
    if "left out" in report:
        return f"| {peer} | left out | | | | {report['left out']} |"
    if "void" in report:
        return f"| {peer} | void | | | | {report['void']} |"
    size = report.get("bytes")
    edit = report.get("edit_cpu_s")
    cells = [
        f"{report['events'] / max(report['cpu_s'], 1e-9):,.0f}",
        "" if size is None else f"{size / subscriptions:,.0f}",
        f"{report['load_cpu_s'] / subscriptions * 1e6:,.1f}",
        "" if edit is None else f"{edit * 1e6:,.1f}",
        f"{report['matches']:,} = {report['matches']:,} of {report['events']:,} events",
    ]
    return f"| {peer} | {' | '.join(cells)} |"


def _prepare(wanted: list[str]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Build or install what is wanted; return the command of each peer, and why the others are left out."""
    commands: dict[str, list[str]] = {}
    left_out: dict[str, str] = {}
    script = str(_SOURCES / "python_peer.py")
    python = None
    for peer in wanted:
        try:
            if peer.startswith("rookery"):
                commands[peer] = [sys.executable, script, peer]
            elif peer in NATIVE_PEERS:
                commands[peer] = _build(peer)
            else:
                python = python or _install()
                commands[peer] = [python, script, peer]
        except (PeerMissingError, OSError) as error:
            left_out[peer] = str(error).strip().splitlines()[-1][-200:]
    return commands, left_out


def _build(peer: str) -> list[str]:
    if peer in peers.PEERS:
        return peers.build(peer)
    tool = {"a_tree": "cargo", "lucene_monitor": "mvn"}[peer]
    if shutil.which(tool) is None:
        raise PeerMissingError(f"{peer} needs {tool}")
    place = _home() / peer
    shutil.copytree(_SOURCES / peer, place, dirs_exist_ok=True)
    if tool == "cargo":
        _call(["cargo", "build", "--release", "--quiet"], place)
        return [str(place / "target" / "release" / "a-tree-peer")]
    _call(["mvn", "-q", "-B", "package", "dependency:copy-dependencies", "-DoutputDirectory=target/jars"], place)
    jars = f"{place}/target/lucene-monitor-peer-1.jar:{place}/target/jars/*"
    return ["java", "-Xmx4g", "-XX:+UseSerialGC", "-cp", jars, "LuceneMonitorPeer"]


def _install() -> str:
    """Make the environment of the Python peers, beside the built ones; return its Python."""
    place = _home() / "python"
    python = str(place / "bin" / "python")
    uv = [sys.executable, "-m", "uv"]
    if not Path(python).exists():
        _call([*uv, "venv", "--quiet", "--python", sys.executable, str(place)], _home())
    _call([*uv, "pip", "install", "--quiet", "--python", python, "pyarrow", *PYTHON_PEERS.values()], _home())
    return python


def _home() -> Path:
    home = Path(os.environ.get("ROOKERY_PEERS") or Path.home() / ".cache" / "rookery" / "peers")
    home.mkdir(parents=True, exist_ok=True)
    return home


def _call(command: list[str], place: Path) -> None:
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerMissingError(f"{command[0]}: {(done.stdout + done.stderr).strip()[-600:]}")


def _share(workload: ArenaWorkload) -> str:
    events = min(500, len(next(iter(workload.columns.values()))))
    share = oracle_count(workload, events) / events / len(workload.subscriptions)
    return f"an event is wanted by {share:.3%} of the subscriptions"


def _machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
