"""Many datagrams in one call are the same datagrams, in order; where the platform refuses, each is a call."""

from __future__ import annotations

import errno
import random
import socket
from typing import Any

import pytest

from rookery.live.datagrams import DatagramSocket
from rookery.rtps.limits import Counters


def a_socket(counters: Counters, *, batches: bool) -> tuple[DatagramSocket, socket.socket]:
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.bind(("127.0.0.1", 0))
    own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    own.settimeout(600)
    return DatagramSocket(own, counters, batches=batches), own


@pytest.mark.parametrize("sender_batches", [False, True])
@pytest.mark.parametrize("receiver_batches", [False, True])
def test_the_same_datagrams_arrive_in_order(sender_batches: bool, receiver_batches: bool) -> None:
    counters = Counters()
    sender, _ = a_socket(counters, batches=sender_batches)
    receiver, plain = a_socket(counters, batches=receiver_batches)
    dice = random.Random(1)
    sent = []
    for _ in range(40):
        size = dice.choice((1, 40, 700, 1_400, 1_401, 9_000))
        sent += [dice.randbytes(size) for _ in range(dice.choice((1, 2, 5, 70)))]
    came: list[bytes] = []
    try:
        for at in range(0, len(sent), 50):
            part = sent[at : at + 50]
            sender.send(plain.getsockname(), part)
            until = len(came) + len(part)
            while len(came) < until:
                came += receiver.receive()[0]
    finally:
        sender.close()
        receiver.close()
    assert came == sent
    assert not counters


class Refusing:
    """A socket on a platform that cuts no buffers, or whose way is broken."""

    def __init__(self, error: int) -> None:
        self.error = error
        self.sent: list[bytes] = []
        self.calls = 0

    def sendmsg(self, *_: Any) -> None:
        self.calls += 1
        raise OSError(self.error, "refused")

    def sendto(self, datagram: bytes, _: Any) -> None:
        self.sent.append(datagram)

    def setsockopt(self, *_: Any) -> None:
        raise OSError(errno.ENOPROTOOPT, "refused")


def test_where_it_is_refused_each_is_a_call_of_its_own() -> None:
    counters, refusing = Counters(), Refusing(errno.EINVAL)
    sender = DatagramSocket(refusing, counters, batches=True)  # type: ignore[arg-type]
    for _ in range(2):
        sender.send(("127.0.0.1", 9), [b"aa", b"bb", b"c"])
    assert refusing.sent == [b"aa", b"bb", b"c"] * 2
    assert refusing.calls == 1
    assert not counters


def test_what_is_lost_is_counted() -> None:
    counters, broken = Counters(), Refusing(errno.ECONNREFUSED)
    DatagramSocket(broken, counters, batches=True).send(("127.0.0.1", 9), [b"aa", b"bb"])  # type: ignore[arg-type]
    assert counters["send_failed"] == 2
