"""Links and peers over real sockets on loopback: frames arrive whole and in order, and no mistake of a peer raises."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import struct
import subprocess
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.errors import JoinError
from rookery.live.admission import session_number
from rookery.live.tcp import Link, LinkLimits, LinkSettings
from rookery.live.tcp_peers import Peers, node_address, node_id
from rookery.live.tcp_ports import Listener, dial, listen

LOOPBACK = ("127.0.0.1", 0)


class Record:
    """A handler that remembers."""

    def __init__(self) -> None:
        self.links: list[Link] = []
        self.frames: list[bytes] = []
        self.reasons: list[str] = []
        self.news = asyncio.Event()

    def opened(self, link: Link) -> None:
        self.links.append(link)
        self.news.set()

    def received(self, link: Link, frames: list[bytes]) -> None:
        self.frames += frames
        self.news.set()

    def writable(self, link: Link) -> None:
        self.news.set()

    def closed(self, link: Link, reason: str) -> None:
        self.reasons.append(reason)
        self.news.set()

    async def until(self, condition: Any) -> None:
        while not condition():
            self.news.clear()
            await self.news.wait()


def run(scenario: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(600):
            await scenario

    asyncio.run(limited())


SECRET = b"a client's"
GUESTS = frozenset({"client", "operator"})


def ends(**options: Any) -> tuple[LinkSettings, LinkSettings]:
    guest = {"identity": session_number(SECRET), "secret": SECRET, "role": "client"}
    return LinkSettings(1, network="n", guests=GUESTS, **options), LinkSettings(**guest, **options)


def test_frames_arrive_whole_and_in_order() -> None:
    async def scenario() -> None:
        mine, theirs = ends()
        server, client = Record(), Record()
        listener = await listen(LOOPBACK, mine, lambda link: server)
        link = await dial(listener.address, theirs, client)
        await client.until(lambda: client.links)
        sent = [bytes([n % 256]) * (n * 37 % 5000) for n in range(500)]
        for payload in sent:
            link.send(payload)
        await server.until(lambda: len(server.frames) == 500)
        assert server.frames == sent
        assert (link.identity, link.role, link.network) == (1, "peer", "n")
        assert (server.links[0].identity, server.links[0].role) == (session_number(SECRET), "client")
        link.close("done")
        await server.until(lambda: server.reasons)
        assert server.reasons == ["the other end: done"]
        assert not mine.faults
        await listener.close()

    run(scenario())


BROKER = {"role": "broker", "network": "a", "guests": GUESTS}
CLIENT = {"role": "client", "identity": session_number(SECRET), "secret": SECRET}
BOTH = {"key": b"k", "broker_key": b"b"}


@pytest.mark.parametrize(
    ("mine", "theirs", "fault"),
    [
        ({"key": b"secret"}, {"key": b"secret"}, None),
        ({"key": b"secret"}, {"key": b"guess"}, "wrong key"),
        ({"key": b"secret"}, {}, "key expected"),
        ({}, {"key": b"secret"}, "no key here"),
        ({"network": "a"}, {"network": "b"}, "another network"),
        ({"network": "a"}, {"network": "a"}, None),
        # an equal that says no name, or no known role, is a stranger
        ({"network": "a"}, {}, "another network"),
        ({"network": ""}, {"network": "b"}, "another network"),
        (BROKER, {"role": "broker"}, "another network"),
        (BROKER, {"role": "broker", "network": "a"}, None),
        (BROKER, {"role": "anything", "network": "a"}, "unknown role"),
        (BROKER, CLIENT, None),
        (BROKER, CLIENT | {"network": "b"}, "another network"),
        (BROKER, CLIENT | {"secret": b"another"}, "another's number"),
        (BROKER, CLIENT | {"secret": b""}, "another's number"),
        (BROKER, CLIENT | {"role": "operator"}, None),
        # the clients' key proves a client
        (BROKER | {"key": b"k"}, CLIENT | {"key": b"k"}, None),
        (BROKER | {"key": b"k"}, CLIENT | {"role": "operator"}, "a client's key proves no other role"),
        (BROKER | {"key": b"k"}, {"role": "broker", "network": "a"}, "a client's key proves no other role"),
        (BROKER | {"key": b"k"}, {"role": "broker", "network": "a", "broker_key": b"k"}, "no key here"),
        (BROKER | BOTH, {"role": "broker", "network": "a", "broker_key": b"k"}, "wrong key"),
        (BROKER | BOTH, {"role": "broker", "network": "a", "broker_key": b"b"}, None),
        (BROKER | BOTH, CLIENT | {"role": "operator", "broker_key": b"b"}, None),
        (BROKER | BOTH, CLIENT | {"role": "operator", "broker_key": b"k"}, "wrong key"),
        (BROKER | BOTH, CLIENT | {"key": b"b"}, "wrong key"),
    ],
)
def test_who_may_come_in(mine: dict[str, Any], theirs: dict[str, Any], fault: str | None) -> None:
    async def scenario() -> None:
        server, client = Record(), Record()
        listening, dialing = LinkSettings(1, **mine), LinkSettings(**{"identity": 2, **theirs})
        listener = await listen(LOOPBACK, listening, lambda link: server)
        link = await dial(listener.address, dialing, client)
        await client.until(lambda: client.links or client.reasons)
        if fault is None:
            link.send(b"hello")
            await server.until(lambda: server.frames)
        else:
            await client.until(lambda: client.reasons)
            assert not server.links
            assert not server.frames
            assert listening.faults[fault] + dialing.faults[fault] >= 1
        link.close()
        await listener.close()

    run(scenario())


def _hostile(data: bytes) -> tuple[Record, LinkSettings]:
    """Send octets to a listener that expects a hello; return what it saw."""
    server = Record()
    listening = LinkSettings(1, limits=LinkLimits(frame=1 << 16, handshake=0.2))

    async def scenario() -> None:
        listener = await listen(LOOPBACK, listening, lambda link: server)
        reader, writer = await asyncio.open_connection(*listener.address)
        writer.write(data)
        await writer.drain()
        await reader.read()  # until it closes
        writer.close()
        await listener.close()

    run(scenario())
    return server, listening


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "no hello"),
        (b"\x7f\xff\xff\xff", "frame too large"),
        (struct.pack("!I", 3) + b"abc", "frame before hello"),
        (struct.pack("!I", 1 << 31 | 3) + b"abc", "malformed"),
        (struct.pack("!I", 1 << 31 | 5) + b"\x92\x04\xa2\xff\xfe", "malformed"),  # a text that is no UTF-8
        (struct.pack("!I", 60_000) + b"x" * 8000, "too much before hello"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "frame too large"),
    ],
)
def test_strangers_are_closed_and_counted(data: bytes, fault: str) -> None:
    server, listening = _hostile(data)
    assert listening.faults == {fault: 1}
    assert not server.links


@settings(max_examples=25, deadline=None)
@given(st.binary(max_size=200))
def test_no_octets_raise(data: bytes) -> None:
    server, listening = _hostile(data)
    assert sum(listening.faults.values()) <= 1
    assert not server.links


@settings(max_examples=25, deadline=None)
@given(st.lists(st.binary(max_size=50), max_size=20), st.lists(st.integers(1, 40), max_size=30))
def test_frames_do_not_depend_on_how_the_stream_is_cut(payloads: list[bytes], cuts: list[int]) -> None:
    async def scenario() -> None:
        record = Record()
        link = Link(LinkSettings(1), record, dialing=True)
        link.is_open = True
        stream = b"".join(struct.pack("!I", len(payload)) + payload for payload in payloads)
        at = 0
        for cut in [*cuts, len(stream) + 1]:
            link.data_received(stream[at : at + cut])
            at += cut
        assert record.frames == payloads
        assert link.received == len(payloads)

    run(scenario())


def test_what_is_said_before_goodbye_counts() -> None:
    async def scenario() -> None:
        mine, theirs = ends()
        server, client = Record(), Record()
        listener = await listen(LOOPBACK, mine, lambda link: server)
        link = await dial(listener.address, theirs, client)
        await client.until(lambda: client.links)
        link.send(b"one")
        link.send(b"two")
        link.close("done")
        await server.until(lambda: server.reasons)
        assert server.frames == [b"one", b"two"]
        await listener.close()

    run(scenario())


def test_listener_has_room_for_so_many() -> None:
    async def scenario() -> None:
        server = Record()
        listening = LinkSettings(1, limits=LinkLimits(links=2))
        listener = await listen(LOOPBACK, listening, lambda link: server)
        clients = [Record() for _ in range(3)]
        for number, client in enumerate(clients):
            await dial(listener.address, LinkSettings(number + 2), client)
            await client.until(lambda client=client: client.links or client.reasons)
        assert [bool(client.links) for client in clients] == [True, True, False]
        assert listening.faults == {"too many links": 1}
        await listener.close()

    run(scenario())


def _raw(listener: Listener, count: int) -> list[socket.socket]:
    return [socket.create_connection(listener.address) for _ in range(count)]


@pytest.mark.parametrize("limits", [LinkLimits(strangers_each=8), LinkLimits(strangers=8), LinkLimits(links=8)])
def test_who_says_hello_gets_in_beside_many_who_do_not(limits: LinkLimits) -> None:
    async def scenario() -> None:
        server, client = Record(), Record()
        listening = LinkSettings(1, limits=replace(limits, handshake=600.0))
        listener = await listen(LOOPBACK, listening, lambda link: server)
        silent = await asyncio.to_thread(_raw, listener, 40)
        await until(lambda: listening.faults["too many strangers"] == 32)
        await dial(listener.address, LinkSettings(2), client)
        await client.until(lambda: client.links or client.reasons)
        assert client.links
        assert len(listener.links) <= 9
        for one in silent:
            one.close()
        client.links[0].close()
        await listener.close()

    run(scenario())


def test_one_holder_has_room_for_so_many() -> None:
    async def scenario() -> None:
        server = Record()
        listening = LinkSettings(1, limits=LinkLimits(links_each=2))
        listener = await listen(LOOPBACK, listening, lambda link: server)
        for expected in (1, 2, 2):
            client = Record()
            await dial(listener.address, LinkSettings(2), client)
            await client.until(lambda: client.links or client.reasons)  # noqa: B023
            await until(lambda: len(listener.links) <= 2)
            assert len(server.links) == expected
        server.links[0].close()
        await until(lambda: len(listener.links) < 2)
        again = Record()
        await dial(listener.address, LinkSettings(2), again)
        await server.until(lambda: len(server.links) == 3)
        await listener.close()

    run(scenario())


def test_frames_that_never_end_are_bounded_over_all_links() -> None:
    async def scenario() -> None:
        server, honest = Record(), Record()
        limits = LinkLimits(unfinished=1 << 20, frame=1 << 20)
        listening = LinkSettings(1, limits=limits)
        listener = await listen(LOOPBACK, listening, lambda link: server)
        hostile = [Record() for _ in range(8)]
        for one in hostile:
            link = await dial(listener.address, LinkSettings(2, limits=limits), one)
            await one.until(lambda one=one: one.links)
            link.send_framed(struct.pack("!I", 1 << 20) + b"x" * (1 << 18))  # and no more
        await until(lambda: listening.faults["unfinished frames"] >= 4)
        assert listening.unfinished.total <= 1 << 20
        link = await dial(listener.address, LinkSettings(3, limits=limits), honest)
        await honest.until(lambda: honest.links)
        link.send(b"y" * (1 << 18))
        await server.until(lambda: server.frames)
        assert not honest.reasons
        await listener.close()

    run(scenario())


def test_reader_that_pauses_holds_the_sender() -> None:
    async def scenario() -> None:
        mine, theirs = ends(limits=LinkLimits(congested=1 << 16))
        server, client = Record(), Record()
        listener = await listen(LOOPBACK, mine, lambda link: server)
        link = await dial(listener.address, theirs, client)
        await client.until(lambda: client.links)
        await server.until(lambda: server.links)
        server.links[0].pause()
        sent = 0
        while not link.congested:
            link.send(b"x" * 65_536)
            sent += 1
            await asyncio.sleep(0)
        assert len(server.frames) < sent
        server.links[0].resume()
        await server.until(lambda: len(server.frames) == sent)
        await client.until(lambda: not link.congested)
        link.close()
        await listener.close()

    run(scenario())


def test_silence_closes_a_link() -> None:
    async def scenario() -> None:
        server, client = Record(), Record()
        quick = LinkSettings(1, heartbeat=0.05, silence=0.2)
        listener = await listen(LOOPBACK, quick, lambda link: server)
        await dial(listener.address, replace(quick, identity=2, heartbeat=60.0), client)
        await server.until(lambda: server.reasons)
        assert quick.faults["silent"] == 1
        await listener.close()

    run(scenario())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
def test_tls(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*request, *names], check=True, capture_output=True)
    listening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    listening.load_cert_chain(certificate, key)
    trusting = ssl.create_default_context(cafile=str(certificate))

    async def scenario() -> None:
        server, client = Record(), Record()
        listener = await listen(LOOPBACK, LinkSettings(1, tls_listen=listening), lambda link: server)
        link = await dial(listener.address, LinkSettings(2, tls_dial=trusting), client)
        await client.until(lambda: client.links)
        link.send(b"secret")
        await server.until(lambda: server.frames)
        with pytest.raises(JoinError):
            await dial(listener.address, LinkSettings(3, tls_dial=ssl.create_default_context()), Record())
        link.close()
        await listener.close()

    run(scenario())


# ---- peers -----------------------------------------------------------------------------------------------------------


@given(st.ip_addresses(v=4), st.integers(0, 65_535), st.integers(0, 100_000))
def test_an_id_says_where_its_node_is(host: Any, port: int, incarnation: int) -> None:
    identity = node_id((str(host), port), incarnation)
    assert node_address(identity) == (str(host), port)
    assert 0 <= identity < 1 << 63


class Node:
    """A process with peers."""

    def __init__(self, incarnation: int = 1) -> None:
        self.incarnation = incarnation
        self.got: list[tuple[int, bytes]] = []
        self.back: list[tuple[int, bytes]] = []
        self.id = 0

    async def start(self, port: int = 0) -> Node:
        # The id names the port, so the port is found first.
        if port == 0:
            probe = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
            port = probe.sockets[0].getsockname()[1]
            probe.close()
            await probe.wait_closed()
        self.id = node_id(("127.0.0.1", port), self.incarnation)
        self.peers = Peers(
            LinkSettings(self.id, heartbeat=0.1),
            on_frames=lambda sender, frames: self.got.extend((sender, frame) for frame in frames),
            on_undeliverable=lambda receiver, frames: self.back.extend((receiver, frame) for frame in frames),
            is_urgent=lambda payload: payload.startswith(b"!"),
            patience=0.3,
        )
        await self.peers.listen(("127.0.0.1", port))
        return self


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0.005)


def test_peers_send_by_id_and_get_back_what_cannot_be_delivered() -> None:
    async def scenario() -> None:
        one, other = await Node().start(), await Node().start()
        for number in range(300):
            one.peers.send(other.id, str(number).encode())
        other.peers.send(one.id, b"answer")
        await until(lambda: len(other.got) == 300 and one.got)
        assert other.got == [(one.id, str(number).encode()) for number in range(300)]
        await other.peers.close()
        one.peers.send(other.id, b"to nobody")
        await until(lambda: (other.id, b"to nobody") in one.back)
        await one.peers.close()

    run(scenario())


def test_what_is_urgent_passes_what_waits_for_a_link_and_comes_once() -> None:
    """Also where the link breaks and all of it is sent again."""

    async def scenario() -> None:
        one, other = await Node().start(), await Node().start()
        one.peers.send(other.id, b"first")
        await until(lambda: other.got)
        (theirs,) = other.peers.links
        theirs.pause()
        large = [bytes([number]) * (1 << 20) for number in range(32)]
        one.peers.send_many(other.id, large)
        one.peers.send_many(other.id, [b"!1", b"last", b"!2"])
        (mine,) = one.peers.links
        theirs.resume()
        await until(lambda: len(other.got) == 36)
        order = [frame for _, frame in other.got]
        assert order.index(b"!1") < order.index(b"!2") < order.index(large[20])
        assert [frame for frame in order if not frame.startswith(b"!")] == [b"first", *large, b"last"]
        await until(lambda: not one.peers.unsent)
        theirs.pause()
        one.peers.send_many(other.id, [*large, b"!3"])
        mine.abort("cut")
        await until(lambda: len({frame for _, frame in other.got}) == 37 and not one.peers.unsent)
        assert not one.back
        await other.peers.close()
        await one.peers.close()

    run(scenario())


def test_what_is_sent_and_not_confirmed_is_counted_once_and_kept_once() -> None:
    """A receiver that does not read: a link gets what it takes, the rest waits as it was sent, in its order."""

    async def scenario() -> None:
        one, other = await Node().start(), await Node().start()
        relieved: list[int] = []
        one.peers.on_relief = lambda: relieved.append(one.peers.unsent)
        one.peers.send(other.id, b"first")
        await until(lambda: other.got)
        (theirs,) = other.peers.links
        theirs.pause()
        large = [bytes([number]) * (1 << 20) for number in range(32)]
        mixed = [
            payload for pair in zip(large, (b"%d" % number for number in range(32)), strict=True) for payload in pair
        ]
        one.peers.send_many(other.id, mixed)
        assert one.peers.unsent >= sum(map(len, mixed))
        (mine,) = one.peers.links
        assert mine._transport is not None
        assert mine._transport.get_write_buffer_size() < 4 << 20
        assert one.peers.congested
        mine.abort("cut")
        await until(lambda: len({frame for _, frame in other.got}) == 65)
        order = [frame for _, frame in other.got]
        assert order[-64:] == mixed
        await until(lambda: one.peers.unsent == 0)
        assert relieved[-1] == 0
        assert not one.back
        await other.peers.close()
        one.peers.send(other.id, b"x" * 1000)
        await until(lambda: one.back)
        assert one.peers.unsent == 0
        await one.peers.close()

    run(scenario())


def test_who_comes_back_at_an_address_is_another_one() -> None:
    async def scenario() -> None:
        one, other = await Node().start(), await Node().start()
        port = node_address(other.id)[1]
        await other.peers.close()
        again = await Node(incarnation=2).start(port)
        one.peers.send(other.id, b"for the dead")
        one.peers.send(again.id, b"for the living")
        await until(lambda: one.back and again.got)
        assert one.back == [(other.id, b"for the dead")]
        assert again.got == [(one.id, b"for the living")]
        await one.peers.close()
        await again.peers.close()

    run(scenario())


def test_a_broken_link_is_dialed_again_and_nothing_is_lost() -> None:
    async def scenario() -> None:
        one, other = await Node().start(), await Node().start()
        one.peers.send(other.id, b"first")
        await until(lambda: other.got)
        for round_ in range(5):
            for link in one.peers.links:
                link.abort("cut")
            for number in range(50):
                one.peers.send(other.id, f"{round_}/{number}".encode())
            await asyncio.sleep(0.02)
        wanted = {f"{round_}/{number}".encode() for round_ in range(5) for number in range(50)}
        await until(lambda: wanted <= {frame for _, frame in other.got})
        assert not one.back
        await one.peers.close()
        await other.peers.close()

    run(scenario())
