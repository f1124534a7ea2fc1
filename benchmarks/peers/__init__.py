"""Peers in programs of their own: small ones around rsigma-eval, event-ruler, quamina and pySigma, built on first use.

One form for all. Patterns: JSON lines `{"id": "…", "pattern": "…"}`, the pattern as its own text (JSON, or Sigma's
YAML). Events: JSON lines, one object each. A program is called with both files, and with a third where each match is to
be written, a line `[number of the event, id]`. It prints one JSON object: `patterns` that it took, `refused` with the
reason each, `events`, `matches`, `load_cpu_s`, and `cpu_s`, the CPU seconds of matching with JSON parsing in
(`parse_cpu_s` and `match_cpu_s` apart where the library lets them be apart).

Programs are built outside of the checkout, in `ROOKERY_PEERS` or `~/.cache/rookery/peers`, with cargo, maven and go,
pySigma with venv and pip, each peer from its registry by name; one that the registry does not hand out is left out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["PEERS", "PeerMissingError", "build", "run_peer", "write_patterns"]

_SOURCES = Path(__file__).parent
PEERS = ("rsigma", "event_ruler", "quamina", "pysigma")
_TOOLS = {"rsigma": "cargo", "event_ruler": "mvn", "quamina": "go", "pysigma": "python3"}


class PeerMissingError(Exception):
    """The tool that builds a peer, or the peer itself, is not here."""


def build(peer: str) -> list[str]:
    """Build a peer where it is not built yet; return the command that runs it."""
    if shutil.which(_TOOLS[peer]) is None:
        raise PeerMissingError(f"{peer} needs {_TOOLS[peer]}")
    home = Path(os.environ.get("ROOKERY_PEERS") or Path.home() / ".cache" / "rookery" / "peers")
    place = home / peer
    shutil.copytree(_SOURCES / peer, place, dirs_exist_ok=True)
    if peer == "rsigma":
        _call(["cargo", "build", "--release", "--quiet"], place)
        return [str(place / "target" / "release" / "rsigma-peer")]
    if peer == "event_ruler":
        _call(["mvn", "-q", "-B", "package", "dependency:copy-dependencies", "-DoutputDirectory=target/jars"], place)
        jars = f"{place}/target/event-ruler-peer-1.jar:{place}/target/jars/*"
        return ["java", "-Xmx8g", "-XX:+UseSerialGC", "-cp", jars, "EventRulerPeer"]
    if peer == "pysigma":
        python = place / "environment" / "bin" / "python"
        if not python.exists():
            _call([sys.executable, "-m", "venv", "environment"], place)
        _call([str(python), "-m", "pip", "install", "-q", "pysigma", "pysigma-backend-sqlite", "duckdb"], place)
        return [str(python), str(place / "peer.py")]
    _call(["go", "mod", "tidy"], place)
    _call(["go", "build", "-o", "quamina-peer", "."], place)
    return [str(place / "quamina-peer")]


def write_patterns(path: Path, patterns: Iterable[tuple[str, str]]) -> None:
    """Write ids and texts of patterns in the form that the peers read."""
    with path.open("w", encoding="utf-8") as out:
        for name, text in patterns:
            out.write(json.dumps({"id": name, "pattern": text}) + "\n")


def run_peer(
    command: list[str], patterns: Path, events: Path, out: Path | None = None, *, limit: int | None = None
) -> dict[str, Any]:
    """Run a peer on one core, with no more than so many seconds of CPU; return what it reports."""
    core = ["taskset", "-c", str(min(os.sched_getaffinity(0)))] if shutil.which("taskset") else []
    call = [*core, *command, str(patterns), str(events), *([str(out)] if out else [])]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while True:
            try:
                said, errors = process.communicate(timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                if limit and _cpu_seconds(process.pid) > limit:
                    process.kill()
                    raise PeerMissingError(f"not done within {limit} seconds of CPU") from None
    if process.returncode:
        raise PeerMissingError(f"{command[-1]} exited {process.returncode}: {errors.strip()[-400:]}")
    report: dict[str, Any] = json.loads(said.strip().splitlines()[-1])
    return report


def _cpu_seconds(process: int) -> float:
    """Return the CPU time of a process; a resource limit would coarsen the clock by which the peer measures itself."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _call(command: list[str], place: Path) -> None:
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerMissingError(f"{' '.join(command)}: {(done.stdout + done.stderr).strip()[-600:]}")
