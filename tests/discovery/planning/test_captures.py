"""Captures: every link and both formats give the same datagrams, as tshark reads them; anything else harms nobody."""

from __future__ import annotations

import contextlib
import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.discovery.planning import read_capture, read_topology
from rookery.discovery.planning.captures import Capture, is_capture
from rookery.discovery.planning.observed import observe
from rookery.discovery.planning.traffic import PARTS
from rookery.errors import TopologyError
from rookery.rtps import QualityOfService, Reliability
from rookery.simulated.domain import SimulatedNetwork

RELIABLE = QualityOfService(reliability=Reliability.RELIABLE)


def run_of_three() -> tuple[list[bytes], int]:
    """Return what three participants send in two seconds: a talker, a listener, and one with neither's topic."""
    network = SimulatedNetwork(7)
    sent: list[bytes] = []
    network.on_datagram = lambda _, datagram, to: sent.append(datagram)
    for number, topic in enumerate(("rt/chatter", "rt/chatter", "rt/else")):
        member = network.join(name=f"node{number}")
        make = member.participant.create_reader if number == 1 else member.participant.create_writer
        make(topic, type_name="T", qos=RELIABLE, keyed=False, now=member.now)
        member.flush()
    network.run(2_000_000)
    return sent, network.bytes_sent


PAYLOADS, OCTETS = run_of_three()


def ipv4(payload: bytes, *, fragment: int = 0, protocol: int = 17) -> bytes:
    udp = struct.pack(">HHHH", 40_000, 7_400, 8 + len(payload), 0) + payload
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 1, fragment, 64, protocol, 0)
    return head + bytes((127, 0, 0, 1)) + bytes((239, 255, 0, 1)) + udp


def ipv6(payload: bytes) -> bytes:
    udp = struct.pack(">HHHH", 40_000, 7_400, 8 + len(payload), 0) + payload
    options = struct.pack(">BB6x", 17, 0)  # a hop-by-hop header before UDP
    return (
        struct.pack(">IHBB", 6 << 28, len(options + udp), 0, 64) + bytes(15) + b"\1" + bytes(15) + b"\2" + options + udp
    )


LINKS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "ethernet": (1, lambda payload: bytes(12) + b"\x08\x00" + ipv4(payload)),
    "tagged ethernet": (1, lambda payload: bytes(12) + b"\x81\x00\x00\x05\x08\x00" + ipv4(payload)),
    "ethernet, IPv6": (1, lambda payload: bytes(12) + b"\x86\xdd" + ipv6(payload)),
    "null": (0, lambda payload: struct.pack("<I", 2) + ipv4(payload)),
    "loop": (108, lambda payload: struct.pack(">I", 2) + ipv4(payload)),
    "raw": (101, ipv4),
    "cooked": (113, lambda payload: struct.pack(">HHH8xH", 0, 772, 6, 0x0800) + ipv4(payload)),
    "cooked 2": (276, lambda payload: struct.pack(">HHIHBB8x", 0x0800, 0, 1, 772, 0, 6) + ipv4(payload)),
}


def classic(frames: list[bytes], link: int, *, order: str = "<", magic: int = 0xA1B2C3D4) -> bytes:
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65_535, link)]
    for number, frame in enumerate(frames):
        parts.append(struct.pack(order + "IIII", 1_700_000_000, number, len(frame), len(frame)) + frame)
    return b"".join(parts)


def block(kind: int, body: bytes, order: str) -> bytes:
    body += bytes(-len(body) % 4)
    length = len(body) + 12
    return struct.pack(order + "II", kind, length) + body + struct.pack(order + "I", length)


def next_generation(frames: list[bytes], link: int, *, order: str = "<") -> bytes:
    option = struct.pack(order + "HHB3xHH", 9, 1, 9, 0, 0)  # ticks of a nanosecond
    parts = [
        block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order),
        block(1, struct.pack(order + "HHI", link, 0, 65_535) + option, order),
        block(5, struct.pack(order + "III", 0, 0, 0), order),  # statistics: nobody's datagram
    ]
    for number, frame in enumerate(frames):
        ticks = 1_700_000_000 * 10**9 + number * 1_000
        head = struct.pack(order + "IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), len(frame))
        parts.append(block(6, head + frame, order))
    return b"".join(parts)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("write", [classic, next_generation])
def test_all_formats_and_links_give_the_same(write: Callable[..., bytes], order: str, link: str) -> None:
    number, wrap = LINKS[link]
    data = write([wrap(payload) for payload in PAYLOADS], number, order=order)
    capture = Capture(data)
    found = list(capture.datagrams())
    assert [each.payload for each in found] == PAYLOADS
    assert [each.time for each in found] == [1_700_000_000_000_000 + number for number in range(len(PAYLOADS))]
    assert {each.port for each in found} == {7_400}
    assert not capture.skipped


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("write", [classic, next_generation])
def test_tshark_reads_the_same_datagrams(write: Callable[..., bytes], tmp_path: Path) -> None:
    for link in ("ethernet", "cooked 2"):
        number, wrap = LINKS[link]
        path = tmp_path / "run.pcap"
        path.write_bytes(write([wrap(payload) for payload in PAYLOADS], number))
        command = ["tshark", "-r", str(path), "-T", "fields", "-e", "udp.payload"]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert [bytes.fromhex(line) for line in printed.split()] == PAYLOADS


def test_every_octet_is_put_down_to_a_part_and_everyone_is_found() -> None:
    seen = observe(PAYLOADS)
    assert sum(seen.octets.values()) == OCTETS
    assert sum(seen.datagrams.values()) == len(PAYLOADS)
    assert all(seen.octets[part] for part in PARTS if part != "answers")
    system, observation = read_capture(classic([ipv4(payload) for payload in PAYLOADS], 101), name="run.pcap")
    assert {each.name: [(end.kind, end.topic) for end in each.endpoints] for each in system.participants} == {
        "node0": [("W", "rt/chatter")],
        "node1": [("R", "rt/chatter")],
        "node2": [("W", "rt/else")],
    }
    assert observation.octets == seen.octets


def test_what_is_left_out_is_counted() -> None:
    good = ipv4(PAYLOADS[0])
    frames = [good, ipv4(PAYLOADS[0], fragment=0x2000), ipv4(b"x", fragment=7), ipv4(b"x", protocol=6), b"\x45", b""]
    data = classic(frames, 101)
    cut = struct.pack("<IIII", 0, 0, 20, len(good)) + good[:20]
    capture = Capture(data + cut + struct.pack("<IIII", 0, 0, 999, 999) + b"the writer was killed")
    assert len(list(capture.datagrams())) == 1
    assert capture.skipped == {
        "IP fragments": 2,
        "not UDP": 1,
        "not IP": 2,
        "cut short by the capture": 1,
        "at the end of a file that stops in its middle": 1,
    }
    twice = [struct.pack(">HHH8xH", kind, 772, 6, 0x0800) + good for kind in (4, 0)]
    assert len(list(Capture(classic(twice, 113)).datagrams())) == 1


def test_a_capture_without_discovery_is_an_error_that_says_so() -> None:
    with pytest.raises(TopologyError, match=r"no RTPS discovery \(0 RTPS messages, 1 other"):
        read_topology(classic([ipv4(b"hello")], 101))
    with pytest.raises(TopologyError, match="is a capture"):
        read_topology(classic([], 1), group_by="process")
    assert not is_capture(b'{"nodes": []}')


@given(st.integers(0, 2**32))
def test_a_damaged_capture_harms_nobody(seed: int) -> None:
    dice = random.Random(seed)
    number, wrap = LINKS[dice.choice(list(LINKS))]
    write = dice.choice([classic, next_generation])
    data = bytearray(write([wrap(payload) for payload in PAYLOADS[:12]], number))
    for _ in range(dice.randrange(1, 8)):
        data[dice.randrange(4, len(data))] = dice.randrange(256)
    with contextlib.suppress(TopologyError):
        read_capture(bytes(data[: dice.randrange(4, len(data) + 1)]))
