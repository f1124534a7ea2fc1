"""tshark as the judge: everything that we say dissects as RTPS without a complaint, in both byte orders."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from rookery.rtps.messages import decode_message, encode_message

GOLDEN = Path(__file__).parent.parent / "cases" / "rtps" / "rookery.json"


def pcap(datagrams: list[bytes]) -> bytes:
    """Return a capture file of raw IPv4 packets (link type 101) that carry the datagrams over UDP."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 101)
    for second, datagram in enumerate(datagrams):
        udp = struct.pack(">HHHH", 10_000, 7_400, 8 + len(datagram), 0) + datagram
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), second, 0, 64, 17, 0, b"\x7f\0\0\1", b"\x7f\0\0\2")
        packet = ip + udp
        out += struct.pack("<IIII", second, 0, len(packet), len(packet)) + packet
    return out


def tshark(capture: Path, *arguments: str) -> list[str]:
    run = subprocess.run(["tshark", "-r", str(capture), *arguments], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed: apt-get install tshark")
@pytest.mark.parametrize("little", [True, False], ids=["little", "big"])
@pytest.mark.parametrize("file", ["rookery.json", "summaries.json"])
def test_tshark_reads_everything_that_we_say(little: bool, file: str, tmp_path: Path) -> None:
    golden = [bytes.fromhex(case["octets"]) for case in json.loads(GOLDEN.with_name(file).read_text())["cases"]]
    messages = [decode_message(datagram) for datagram in golden]
    said = [encode_message(message.prefix, message.submessages, little=little) for message in messages]
    if little:
        assert said == golden
    capture = tmp_path / "said.pcap"
    capture.write_bytes(pcap(said))
    assert len(tshark(capture, "-Y", "rtps")) == len(said)
    assert tshark(capture, "-Y", '_ws.malformed || _ws.expert.severity == "Error" || _ws.unreassembled') == []
    dissected = tshark(capture, "-T", "fields", "-e", "rtps.sm.id")
    assert [len(line.split(",")) for line in dissected] == [len(message.submessages) for message in messages]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed: apt-get install tshark")
def test_tshark_complains_about_what_is_wrong(tmp_path: Path) -> None:
    octets = bytes.fromhex(json.loads(GOLDEN.read_text())["cases"][0]["octets"])
    capture = tmp_path / "wrong.pcap"
    capture.write_bytes(pcap([octets[:-10]]))
    assert tshark(capture, "-Y", '_ws.malformed || _ws.expert.severity == "Error"')
