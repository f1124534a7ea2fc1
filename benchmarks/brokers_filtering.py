"""Brokers beside zenoh and NATS whose subscribers filter: CPU and bytes of everybody, by selectivity and subscribers.

`python -m benchmarks brokers_filtering [--peers PYTHON] [--events N] [--selectivity 1 0.1] [--subscribers 1 8 32]`.
One publisher, one relay (nats-server, a zenoh session in router mode, or brokers), and so many subscribers, each of
which wants the share of the events whose value lies in a range of its own. A broker is told the range; the peers send
everybody everything, and each subscriber looks into the value alone and reads the event if it wants it. Events are
telemetry of nine fields, a dict for the program at both ends, MessagePack in between. CPU is that of all processes,
from when all subscriptions are in force until every subscriber has what it wants; bytes are those of the loopback
device of a network namespace of the run's own (needs root and `unshare`; else they are left out). Whoever has not
received exactly what the range says, each event once, voids its cell; events of an earlier cell that brokers send to
younger subscriptions are counted apart. Nothing is kept on disks.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.brokers_filtering_roles import answer, expected, role
from benchmarks.brokers_live import free_port, wait_for

__all__ = ["main"]

SCHEMA = (
    "device:string,site:string,metric:string,unit:string,value:float64,battery:float64,quality:int64,sequence:int64,"
    "stamp:int64"
)
HOST = "127.0.0.1"
#: Seconds until brokers that have joined know each other and have placed themselves.
SETTLING = 20.0
#: Events of a cell with many subscribers.
FEWEST = 40_000
#: What a cell shows: CPU microseconds an event of publisher, relay and subscribers, and bytes an event.
Cell = tuple[float, float, float, float]


def cpu_of(processes: list[int]) -> float:
    """Return the CPU seconds of all threads of some processes, to the nanosecond."""
    found = 0
    for process in processes:
        for task in Path(f"/proc/{process}/task").iterdir():
            found += int((task / "schedstat").read_text().split()[0])
    return found / 1e9


def octets() -> int:
    """Return the bytes that the loopback device has carried."""
    line = next(one for one in Path("/proc/net/dev").read_text().splitlines() if one.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[0])


@contextmanager
def relaying(system: str, python: str, folder: Path) -> Iterator[tuple[list[int], list[int]] | str]:
    """Run what stands between publisher and subscribers: its ports and processes, or why it is not there."""
    kind, _, size = system.partition(" ")
    ports = [free_port() for _ in range(int(size or 1))]
    commands = []
    if kind == "rookery":
        for port in ports:
            command = [sys.executable, "-m", "rookery", "broker", "--listen", f"{HOST}:{port}", "--topic", "telemetry"]
            command += ["--schema", SCHEMA, "--space", "value:0:1000,device", "--durability", "memory"]
            command += ["--backlog", "10000000"]
            commands.append(command + (["--join", f"{HOST}:{ports[0]}"] if port != ports[0] else []))
    elif subprocess.run([python, "-c", f"import {kind}"], capture_output=True).returncode:
        yield f"no module {kind}"
        return
    elif kind == "zenoh":
        commands.append([python, "-m", "benchmarks.brokers_filtering_roles", "zenoh", "router", str(ports[0])])
    else:
        beside = Path(python).parent / "nats-server"
        server = str(beside) if beside.exists() else shutil.which("nats-server")
        if server is None:
            yield "no nats-server"
            return
        # A subscriber that is behind is waited for: nothing may be missing.
        settings = folder / "nats.conf"
        settings.write_text('max_pending: 1GB\nwrite_deadline: "300s"\n')
        commands.append([server, "-a", HOST, "-p", str(ports[0]), "-c", str(settings)])
    processes = []
    try:
        for port, command in zip(ports, commands, strict=True):
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            processes.append(subprocess.Popen(command, **pipes))  # type: ignore[call-overload]
            wait_for(port)
            time.sleep(2.0)
            if kind == "rookery" and port == ports[0]:  # those that join cut where events are
                answer(role(sys.executable, kind, "publish", ports, 4096, 0))
        time.sleep(SETTLING if len(ports) > 1 else 0)
        yield ports, [process.pid for process in processes]
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def measure(
    system: str, python: str, ports: list[int], relays: list[int], events: int, count: int, selectivity: float
) -> Cell | str:
    """Measure one cell; say what is wrong where its subscribers did not get what they want."""
    kind, run = system.partition(" ")[0], time.time_ns() // 1000
    with_role = sys.executable if kind == "rookery" else python
    subscribers = role(with_role, kind, "subscribe", ports, events, run, count, selectivity)
    if "ready" not in answer(subscribers):
        subscribers.wait()
        return "did not start"
    publisher = role(with_role, kind, "prepare", ports, events, run)
    answer(publisher)
    cpu, carried = cpu_of(relays), octets()
    assert publisher.stdin is not None
    publisher.stdin.write("go\n")
    publisher.stdin.flush()
    sent, seen = answer(publisher), answer(subscribers)
    relay, carried = cpu_of(relays) - cpu, octets() - carried
    publisher.wait()
    subscribers.wait()
    wanted = [expected(events, number, count, selectivity) for number in range(count)]
    if seen.get("wanted") != wanted or seen["twice"]:
        return f"{sum(seen.get('wanted', []))} of {sum(wanted)}, {seen.get('twice')} twice"
    if seen["earlier"]:
        print(f"{seen['earlier']} of an earlier cell:", end=" ")
    each = 1e6 / events
    return sent["cpu"] * each, relay * each, seen["cpu"] * each, carried / events


def table(options: argparse.Namespace, *, is_alone: bool) -> None:
    """Run every cell, system by system, and print them."""
    print("CPU µs an event: publisher + relay + subscribers = all; bytes an event")
    print(f"{'system':<12} {'subscribers':>11} {'selectivity':>11}  {'CPU':<36} {'bytes':>9}")
    found: dict[tuple[str, int, float], float] = {}
    for system in options.systems:
        with tempfile.TemporaryDirectory() as folder, relaying(system, options.peers, Path(folder)) as relay:
            if isinstance(relay, str):
                print(f"{system:<12} left out: {relay}")
                continue
            for count in options.subscribers:
                events = max(min(FEWEST, options.events), options.events // count)
                for selectivity in options.selectivity:
                    cell = measure(system, options.peers, *relay, events, count, selectivity)
                    line = f"{system:<12} {count:>11} {selectivity:>11}  "
                    if isinstance(cell, str):
                        print(f"{line}void: {cell}", flush=True)
                        continue
                    found[system, count, selectivity] = total = sum(cell[:3])
                    cpu = f"{cell[0]:.1f} + {cell[1]:.1f} + {cell[2]:.1f} = {total:.1f}"
                    print(f"{line}{cpu:<36} {f'{cell[3]:,.0f}' if is_alone else '-':>9}", flush=True)
    peers = [system for system in ("zenoh", "nats") if system in options.systems]
    for (system, count, selectivity), own in found.items():
        others = [f"{found[peer, count, selectivity] / own:.2f} x {peer}" for peer in peers
                  if system not in peers and (peer, count, selectivity) in found]  # fmt: skip
        if others:
            print(f"{system}, {count} subscribers, selectivity {selectivity}: a CPU second does {', '.join(others)}")


def main(arguments: list[str]) -> int:
    """Run in a namespace of its own, where that is allowed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks brokers_filtering")
    parser.add_argument("--peers", default=sys.executable, help="the Python that has the peers' libraries")
    parser.add_argument("--events", type=int, default=160_000, help="with one subscriber; of more, fewer")
    parser.add_argument("--systems", nargs="+", default=["zenoh", "nats", "rookery 1", "rookery 8"])
    parser.add_argument("--selectivity", type=float, nargs="+", default=[1.0, 0.1, 0.01])
    parser.add_argument("--subscribers", type=int, nargs="+", default=[1, 8, 32])
    options = parser.parse_args(arguments)
    if "ROOKERY_ALONE" not in os.environ:
        alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
        if not subprocess.run([*alone, "true"], capture_output=True).returncode:
            own = [sys.executable, "-m", "benchmarks", "brokers_filtering", *arguments]
            return subprocess.run([*alone, *own], env={**os.environ, "ROOKERY_ALONE": "1"}).returncode
    table(options, is_alone="ROOKERY_ALONE" in os.environ)
    return 0
