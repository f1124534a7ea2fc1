"""One scene of the discovery benchmark, in a network namespace of its own: who sent how much, and when all had met.

Every UDP datagram that leaves a socket in the namespace is captured on its loopback interface; the kernel's own count
of datagrams says whether the capture is complete. Bytes are UDP payloads. The window begins when the participants are
told to begin, all at one instant.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rookery.rtps.identity import SPDP_WRITER, is_builtin
from rookery.rtps.messages import decode_message
from rookery.rtps.submessages import AckNack, Data, Gap, Heartbeat

__all__ = ["in_a_namespace", "run"]

_OUTGOING = 4  # PACKET_OUTGOING: on loopback every packet is also seen coming in
_BUFFER = 64 << 20
_SO_RCVBUFFORCE = 33
_EVERYTHING, _IP = 0x0003, 0x0800  # only who listens to everything sees what goes out
_ETHERNET, _UDP = 14, 17


def in_a_namespace(*command: str) -> list[str]:
    """Return a command that runs in a network namespace with nothing but loopback."""
    return ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *command]


def datagrams_sent() -> int:
    """Return how many UDP datagrams were sent in this namespace."""
    names, values = (
        line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Udp:")
    )
    return int(dict(zip(names, values, strict=True))["OutDatagrams"])


class Capture(threading.Thread):
    """Keeps the UDP payloads that pass until it is told to stop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.payloads: list[bytes] = []
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_EVERYTHING))
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER)
        self._socket.settimeout(0.2)
        self._done = threading.Event()

    def run(self) -> None:
        while True:
            try:
                packet, address = self._socket.recvfrom(1 << 17)
            except TimeoutError:
                if self._done.is_set():
                    return
                continue
            if address[1] == _IP and address[2] == _OUTGOING and packet[_ETHERNET + 9] == _UDP:
                header = (packet[_ETHERNET] & 15) * 4
                self.payloads.append(packet[_ETHERNET + header + 8 :])

    def stop(self) -> None:
        """Take in what is queued, and end."""
        self._done.set()
        self.join()


def describe(payloads: list[bytes]) -> dict[str, Any]:
    """Return packets and bytes, and what was in them by kind of submessage."""
    counts: Counter[str] = Counter()
    octets: Counter[str] = Counter()
    for payload in payloads:
        for submessage in decode_message(payload).submessages:
            match submessage:
                case Data(writer=writer) if writer == SPDP_WRITER:
                    kind = "announcements"
                case Data(writer=writer):
                    kind = "records" if is_builtin(writer) else "samples"
                case Heartbeat(writer=writer) | AckNack(writer=writer) | Gap(writer=writer):
                    kind = "builtin_control" if is_builtin(writer) else "user_control"
                case _:
                    continue
            counts[kind] += 1
            octets[kind] += len(submessage.encode())
    parts = {kind: {"count": counts[kind], "bytes": octets[kind]} for kind in sorted(counts)}
    return {"packets": len(payloads), "bytes": sum(map(len, payloads)), "submessages": parts}


def run(arguments: list[str]) -> int:
    """Play a scene: implementation, shape, participants, endpoints, protocol, seconds, processes."""
    implementation, shape, participants, endpoints, protocol, seconds, processes = arguments
    count, window = int(participants), float(seconds)
    groups = [[str(index) for index in range(first, count, int(processes))] for first in range(int(processes))]
    peers = Path(__file__).with_name("discovery_peers.py")
    children = [
        subprocess.Popen(
            [sys.executable, str(peers), implementation, shape, participants, endpoints, ",".join(group), protocol],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for group in groups
    ]
    try:
        return _play(children, window, [implementation, protocol, shape, count, int(endpoints)])
    finally:
        for child in children:
            child.kill()
            child.wait()


def _play(children: list[subprocess.Popen[str]], window: float, names: list[Any]) -> int:
    for child in children:
        if _read(child) != "ready":
            raise RuntimeError("a participant did not start")
    capture = Capture()
    capture.start()
    before = datagrams_sent()
    for child in children:
        _write(child)
    began = time.monotonic()
    times: list[float] = []
    readers = [threading.Thread(target=lambda c=child: times.append(_read(c)["seconds"])) for child in children]
    for reader in readers:
        reader.start()
    time.sleep(max(0.0, began + window - time.monotonic()))
    sent = datagrams_sent() - before
    taken = len(capture.payloads)
    for reader in readers:
        reader.join()
    for child in children:
        _write(child)
    reports = [_read(child) for child in children]
    if None in reports:
        raise RuntimeError(f"{reports.count(None)} of {len(reports)} processes ended before they reported")
    missing = sum(report["missing"] for report in reports)
    processor = sum(report.get("cpu_seconds", 0.0) for report in reports)
    capture.stop()
    # What was sent in the window comes first; the kernel's count says how much of the capture that is.
    window_payloads = capture.payloads[: max(sent, taken)]
    complete = len(capture.payloads) >= sent
    keys = ("implementation", "protocol", "shape", "participants", "endpoints")
    matched = max(times) if names[2] != "disjoint" else None
    result = {**dict(zip(keys, names, strict=True)), "seconds": matched, "missing": missing, "complete": complete}
    result["cpu_seconds"] = processor or None
    print(json.dumps({**result, **describe(window_payloads)}))
    return 0


def _read(child: subprocess.Popen[str]) -> Any:
    assert child.stdout is not None
    line = child.stdout.readline()
    return json.loads(line) if line else None


def _write(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write("\n")
        child.stdin.flush()


if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:]))
