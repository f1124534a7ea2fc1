"""Network namespaces as far apart as a matrix says: each has a tun device, and a relay in between holds packets back.

The kernel of many machines cannot delay packets by itself (netem is a module of its own). Here a process has the other
end of every tun device: it reads a packet, looks at its two addresses, and writes it to the device of the receiver when
half the round trip between the two sites is over. Nothing is lost and nothing overtakes.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import itertools
import os
import select
import signal
import struct
import subprocess
import time
from pathlib import Path

import numpy as np
from tests.live.sites import _run, why_not

__all__ = ["DistantSites", "enter_namespace", "why_not_distant"]

_CLONE_NEWNET = 0x40000000
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 1, 0x1000
_NUMBERS = itertools.count()
#: A packet of IPv4 with a full segment fits, and no jumbo frames are made of it.
_MOST = 65_536


def why_not_distant() -> str:
    """Return why this machine allows no such sites, or nothing."""
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "sites that are far apart need /dev/net/tun"
    return why_not()


def enter_namespace(name: str) -> None:
    """Let this process go on in a network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/var/run/netns", name).open("rb") as namespace:
        if libc.setns(namespace.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter {name}")


class DistantSites:
    """A site for each row of a matrix of round-trip times in ms; leave the `with` to end them."""

    def __init__(self, times: np.ndarray) -> None:
        self.times = times
        self._number = next(_NUMBERS) % 250
        self._tag = f"rd{os.getpid() % 100_000}x{self._number}"
        self._relay = 0

    def namespace(self, site: int) -> str:
        """Return the name of a namespace."""
        return f"{self._tag}n{site}"

    def address(self, site: int) -> str:
        """Return the address of a site."""
        return f"10.79.{self._number}.{site + 1}"

    def __enter__(self) -> DistantSites:
        devices = [self._site(site) for site in range(len(self.times))]
        self._relay = os.fork()
        if not self._relay:
            try:
                _relay(devices, (self.times / 2_000).tolist())
            finally:
                os._exit(1)
        for device in devices:
            os.close(device)
        return self

    def _site(self, site: int) -> int:
        """Make a namespace with a tun device; return the other end of it."""
        name = self.namespace(site)
        self._must("ip", "netns", "add", name)
        here = os.open("/proc/self/ns/net", os.O_RDONLY)
        try:
            enter_namespace(name)
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", b"rk0", _IFF_TUN | _IFF_NO_PI))
        finally:
            ctypes.CDLL(None).setns(here, _CLONE_NEWNET)
            os.close(here)
        self._must("ip", "-n", name, "link", "set", "lo", "up")
        self._must("ip", "-n", name, "addr", "add", f"{self.address(site)}/24", "dev", "rk0")
        self._must("ip", "-n", name, "link", "set", "rk0", "up", "txqueuelen", "10000")
        return device

    def __exit__(self, *_: object) -> None:
        if self._relay:
            os.kill(self._relay, signal.SIGKILL)
            os.waitpid(self._relay, 0)
        for site in range(len(self.times)):
            _run("ip", "netns", "delete", self.namespace(site))

    @staticmethod
    def _must(*command: str) -> None:
        subprocess.run(command, capture_output=True, text=True, check=True)


def _relay(devices: list[int], ways: list[list[float]]) -> None:
    """Carry packets, each as long as its way takes, for good."""
    poll = select.poll()
    site_of = {device: site for site, device in enumerate(devices)}
    for device in devices:
        poll.register(device, select.POLLIN)
    waiting: list[tuple[float, int, int, bytes]] = []
    number = 0
    while True:
        patience = max(0.0, waiting[0][0] - time.monotonic()) * 1_000 if waiting else None
        for device, _ in poll.poll(patience):
            try:
                packet = os.read(device, _MOST)
            except BlockingIOError:
                continue
            receiver = packet[19] - 1
            if packet[0] >> 4 == 4 and 0 <= receiver < len(devices):
                number += 1
                due = time.monotonic() + ways[site_of[device]][receiver]
                heapq.heappush(waiting, (due, number, receiver, packet))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, receiver, packet = heapq.heappop(waiting)
            try:
                os.write(devices[receiver], packet)
            except OSError:  # its namespace is on the way down
                continue
