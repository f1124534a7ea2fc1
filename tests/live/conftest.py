"""Peers for the wire tests: a Cyclone DDS participant per process, and our own participant on loopback."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.domains import new_domain

from rookery.live.survey import Survey, survey
from rookery.live.udp import UdpParticipant, open_participant
from rookery.rtps import CdrMember, CdrString, CdrStruct, Guid, Primitive, QualityOfService, Reliability, SampleKind
from rookery.rtps.cdr import decode_key, decode_sample, encode_key, encode_sample, key_hash
from rookery.rtps.events import Event, SampleReceived

RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
BEST_EFFORT = QualityOfService(reliability=Reliability.BEST_EFFORT, history_depth=None)

MESSAGE = CdrStruct("test::Message", (CdrMember("number", Primitive.INT32), CdrMember("text", CdrString())))
QUOTE = CdrStruct(
    "test::Quote",
    (
        CdrMember("symbol", CdrString(), key=True),
        CdrMember("price", Primitive.FLOAT64),
        CdrMember("size", Primitive.INT64),
    ),
)


class CyclonePeer:
    """The other end: commands go to its process, which holds a real participant."""

    def __init__(self, domain_id: int, *, lease: str, peers: str | None = None) -> None:
        script = Path(__file__).with_name("cyclone_peer.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script), str(domain_id)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PEER_LEASE": lease, **({} if peers is None else {"PEER_PEERS": peers})},
        )
        self._read()

    def _read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the Cyclone process ended"
        return json.loads(line)

    def do(self, do: str, **command: Any) -> Any:
        """Run a command there and return its answer; blocks."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **command}) + "\n")
        self.process.stdin.flush()
        return self._read()

    async def ask(self, do: str, **command: Any) -> Any:
        """Run a command there while our own loop goes on."""
        return await asyncio.to_thread(lambda: self.do(do, **command))

    def leave(self) -> None:
        """Let the participant say goodbye, and end."""
        assert self.process.stdin is not None
        self.process.stdin.write('{"do": "leave"}\n')
        self.process.stdin.flush()
        self.process.wait(600)

    def end(self) -> None:
        """End the process, whatever state it is in."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


class OurPeer:
    """Our own participant, with what happened to it in a list."""

    def __init__(self, domain_id: int, **options: Any) -> None:
        self.events: list[Event] = []
        self._news = asyncio.Event()
        self.udp: UdpParticipant = open_participant(on_event=self._on_event, domain_id=domain_id, **options)

    def _on_event(self, event: Event) -> None:
        self.events.append(event)
        self._news.set()

    def of(self, kind: type) -> list[Any]:
        """Return what happened of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, condition: Callable[[], object], *, timeout: float = 600) -> None:
        """Wait until something holds; the limit only turns a hang into a failure."""
        async with asyncio.timeout(timeout):
            while not condition():
                self._news.clear()
                try:
                    await asyncio.wait_for(self._news.wait(), 0.05)
                except TimeoutError:
                    continue

    def writer(self, topic: str, of: CdrStruct, qos: QualityOfService) -> Guid:
        """Make a writer."""
        now = self.udp.now()
        guid = self.udp.participant.create_writer(topic, of.name, qos, keyed=of.is_keyed, now=now, type=of)
        self.udp.flush()
        return guid

    def reader(self, topic: str, of: CdrStruct, qos: QualityOfService) -> Guid:
        """Make a reader."""
        now = self.udp.now()
        guid = self.udp.participant.create_reader(topic, of.name, qos, keyed=of.is_keyed, now=now, type=of)
        self.udp.flush()
        return guid

    def write(self, writer: Guid, of: CdrStruct, value: dict[str, Any], kind: SampleKind = SampleKind.ALIVE) -> None:
        """Write a sample, or the end of its instance."""
        payload = encode_sample(of, value) if kind is SampleKind.ALIVE else encode_key(of, value)
        instance = key_hash(of, value) if of.is_keyed else b""
        self.udp.participant.write(writer, payload, now=self.udp.now(), kind=kind, key_hash=instance)
        self.udp.flush()

    def samples(self, reader: Guid, of: CdrStruct) -> list[Any]:
        """Return what a reader has received: a value, or the kind and the key for the end of an instance."""
        return [
            decode_sample(of, event.payload)
            if event.kind is SampleKind.ALIVE
            else (event.kind, decode_key(of, event.payload))
            for event in self.of(SampleReceived)
            if event.reader == reader
        ]

    async def matched(self, guid: Guid, count: int = 1) -> None:
        """Wait until a local endpoint has that many partners."""
        await self.until(lambda: len(self.udp.participant.matched(guid)) == count)


async def survey_until(condition: Callable[[Survey], object], **options: Any) -> Survey:
    """Survey, and where the machine was too slow for that, again and longer; the limit only ends a hang."""
    seconds = 0.5
    while not condition(found := await survey(seconds=seconds, **options)) and seconds < 200:
        seconds *= 2
    return found


@pytest.fixture
def domain_id() -> int:
    """A domain that no other test uses at the same time."""
    return new_domain()


@pytest.fixture
def cyclone(domain_id: int) -> Iterator[Callable[..., CyclonePeer]]:
    """Start Cyclone DDS participants in the test's domain."""
    if importlib.util.find_spec("cyclonedds") is None:
        pytest.skip("cyclonedds is not installed: pip install cyclonedds==11.0.1")
    peers: list[CyclonePeer] = []

    def start(*, lease: str = "10 s", named: str | None = None) -> CyclonePeer:
        peers.append(CyclonePeer(domain_id, lease=lease, peers=named))
        return peers[-1]

    yield start
    for peer in peers:
        peer.end()
