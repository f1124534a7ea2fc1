"""Sites for the wire tests: network namespaces of this test's own, joined by a bridge, as machines are by a switch."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["Gateway", "Sites", "Worker", "why_not"]

PEER = Path(__file__).with_name("cyclone_peer.py")
_NUMBERS = itertools.count()


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def why_not() -> str:
    """Return why this machine allows no namespaces, or nothing."""
    if shutil.which("ip") is None:
        return "network namespaces need `ip`"
    name = f"rk{os.getpid()}probe"
    tried = _run("ip", "netns", "add", name)
    if tried.returncode == 0:
        tried = _run("ip", "netns", "exec", name, "ip", "link", "add", "rkbr0", "type", "bridge")
        _run("ip", "netns", "delete", name)
    return "" if tried.returncode == 0 else f"this machine allows no network namespace: {tried.stderr.strip()}"


class Sites:
    """Namespaces `names`, each with loopback and an address of its own on one bridge; leave the `with` to end them."""

    def __init__(self, names: str) -> None:
        number = next(_NUMBERS)
        self._tag = f"rk{os.getpid() % 100_000}x{number}"
        self.names = names
        self.addresses = {name: f"10.77.{number % 250}.{10 + index}" for index, name in enumerate(names)}
        #: Of those who have a second interface, `rk1`, its address.
        self.further: dict[str, str] = {}
        self._processes: list[subprocess.Popen[str]] = []

    def namespace(self, name: str) -> str:
        """The namespace of a site; of the bridge for `-`."""
        return f"{self._tag}{name}"

    def __enter__(self) -> Sites:
        bridge = self.namespace("-")
        self._must("ip", "netns", "add", bridge)
        self._must("ip", "-n", bridge, "link", "add", "rkbr0", "type", "bridge", "mcast_snooping", "0")
        self._must("ip", "-n", bridge, "link", "set", "rkbr0", "up")
        for name in self.names:
            site = self.namespace(name)
            self._must("ip", "netns", "add", site)
            self._must("ip", "-n", site, "link", "set", "lo", "multicast", "on", "up")
            veth = ["link", "add", "rk0", "type", "veth", "peer", "name", f"rk{name}", "netns", bridge]
            self._must("ip", "-n", site, *veth)
            self._must("ip", "-n", site, "addr", "add", f"{self.addresses[name]}/24", "dev", "rk0")
            self._must("ip", "-n", site, "link", "set", "rk0", "up")
            self._must("ip", "-n", bridge, "link", "set", f"rk{name}", "master", "rkbr0", "up")
        return self

    def second_network(self, names: str) -> None:
        """Give sites a second interface, `rk1`, on a bridge of its own."""
        bridge = self.namespace("-")
        self._must("ip", "-n", bridge, "link", "add", "rkbr1", "type", "bridge", "mcast_snooping", "0")
        self._must("ip", "-n", bridge, "link", "set", "rkbr1", "up")
        for index, name in enumerate(names):
            site = self.namespace(name)
            self.further[name] = f"10.78.{self.addresses[name].split('.')[2]}.{50 + index}"
            veth = ["link", "add", "rk1", "type", "veth", "peer", "name", f"rk{name}1", "netns", bridge]
            self._must("ip", "-n", site, *veth)
            self._must("ip", "-n", site, "addr", "add", f"{self.further[name]}/24", "dev", "rk1")
            self._must("ip", "-n", site, "link", "set", "rk1", "up")
            self._must("ip", "-n", bridge, "link", "set", f"rk{name}1", "master", "rkbr1", "up")

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        for name in (*self.names, "-"):
            _run("ip", "netns", "delete", self.namespace(name))

    def start(self, name: str, *command: str, **variables: str) -> subprocess.Popen[str]:
        """Start a process at a site."""
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.namespace(name), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
        )
        self._processes.append(process)
        return process

    def octets(self, name: str) -> tuple[int, int]:
        """Return the octets and packets that have crossed a site's interface, both ways."""
        listed = _run("ip", "-n", self.namespace(name), "-s", "-j", "link", "show", "rk0")
        stats = json.loads(listed.stdout)[0]["stats64"]
        return stats["rx"]["bytes"] + stats["tx"]["bytes"], stats["rx"]["packets"] + stats["tx"]["packets"]

    def link(self, name: str, state: str) -> None:
        """Pull a site's plug, or put it in again."""
        self._must("ip", "-n", self.namespace("-"), "link", "set", f"rk{name}", state)

    def cut(self, name: str, other: str) -> None:
        """Let nothing that one site sends reach another one; what comes from there still arrives."""
        self._must("ip", "-n", self.namespace(name), "route", "add", "blackhole", f"{self.addresses[other]}/32")

    def mend(self, name: str, other: str) -> None:
        """Let it pass again."""
        _run("ip", "-n", self.namespace(name), "route", "del", "blackhole", f"{self.addresses[other]}/32")

    def _must(self, *command: str) -> None:
        done = _run(*command)
        if done.returncode != 0:
            self.__exit__()
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")


def answer_of(process: subprocess.Popen[str], command: str | None = None) -> Any:
    """Give a process a line, if there is one to give, and return what it answers, a line of JSON."""
    assert process.stdin is not None
    assert process.stdout is not None
    if command is not None:
        process.stdin.write(command + "\n")
        process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        assert process.stderr is not None
        raise RuntimeError(process.stderr.read())
    return json.loads(line)


class Worker:
    """A real Cyclone DDS participant at a site (`cyclone_peer.py`)."""

    def __init__(self, sites: Sites, name: str, *, domain_id: int = 0, interface: str = "lo") -> None:
        self._process = sites.start(name, sys.executable, str(PEER), str(domain_id), PEER_INTERFACE=interface)
        assert answer_of(self._process) == "ready"

    def do(self, command: str, **arguments: Any) -> Any:
        """Run one command and return its answer."""
        return answer_of(self._process, json.dumps({"do": command, **arguments}))


class Gateway:
    """A `rookery gateway` at a site, whose printed lines are read when asked for."""

    def __init__(
        self, sites: Sites, name: str, *, join: str = "", port: int = 7501, more: tuple[str, ...] = ()
    ) -> None:
        self._sites = sites
        here = f"{sites.addresses[name]}:{port}"
        joins = [part for other in join for part in ("--join", f"{sites.addresses[other]}:{port}")]
        call = [sys.executable, "-m", "rookery", "gateway", "--island", f"site-{name}", "--listen", here, "--insecure"]
        call += [*joins, *more]
        self.process = sites.start(name, *call)
        assert self.process.stderr is not None
        first = self.process.stderr.readline()
        assert "gateway of" in first, first + self.process.stderr.read()

    def lines(self, until: Any) -> list[str]:
        """Read lines until one satisfies a condition; return them all."""
        assert self.process.stdout is not None
        lines: list[str] = []
        for line in self.process.stdout:
            lines.append(line.rstrip("\n"))
            if until(lines):
                break
        return lines

    def kill(self) -> None:
        """End it with -9."""
        self.process.kill()
        self.process.wait()
