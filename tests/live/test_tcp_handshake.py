"""The handshake of two ends without a socket: who is turned away, who proves what; a proof fits one of them alone."""

from __future__ import annotations

from typing import Any

from rookery.live.tcp_handshake import Handshake
from rookery.live.tcp_hello import LinkSettings

HOST = "127.0.0.1"


def handshake(identity: int, *, dialing: bool, nonce: int = 0, **settings: Any) -> Handshake:
    return Handshake(LinkSettings(identity, network="n", **settings), bytes([identity, nonce] * 8), dialing=dialing)


def pair(one: Handshake, other: Handshake) -> list[str | None]:
    return [
        one.take(other.mine, certificate=None, host=HOST),
        other.take(one.mine, certificate=None, host=HOST),
    ]


def test_without_a_key_there_is_nothing_to_prove() -> None:
    one, other = handshake(1, dialing=True), handshake(2, dialing=False)
    assert one.key is None
    assert pair(one, other) == [None, None]
    assert (one.key, other.key) == (None, None)


def test_both_prove_the_key_and_neither_proof_is_the_other() -> None:
    one, other = handshake(1, dialing=True, key=b"k"), handshake(2, dialing=False, key=b"k")
    assert one.key is None  # nobody has said hello yet: a proof now is out of turn
    assert pair(one, other) == [None, None]
    assert other.is_proven_by(one.proof())
    assert one.is_proven_by(other.proof())
    assert not one.is_proven_by(one.proof())
    assert not other.is_proven_by(other.proof())


def test_another_key_proves_nothing() -> None:
    one, other = handshake(1, dialing=True, key=b"k"), handshake(2, dialing=False, key=b"another")
    assert pair(one, other) == [None, None]
    assert not other.is_proven_by(one.proof())
    assert not one.is_proven_by(other.proof())


def test_the_proof_of_an_earlier_handshake_is_none() -> None:
    one, other = handshake(1, dialing=True, key=b"k"), handshake(2, dialing=False, key=b"k")
    pair(one, other)
    again = handshake(2, dialing=False, nonce=1, key=b"k")
    assert again.take(one.mine, certificate=None, host=HOST) is None
    assert not again.is_proven_by(one.proof())


def test_a_second_hello_is_malformed_and_a_refused_one_counts_for_nothing() -> None:
    one, other = handshake(1, dialing=True, key=b"k"), handshake(2, dialing=False, key=b"k")
    stranger = Handshake(LinkSettings(3, network="another", key=b"k"), bytes(16), dialing=True)
    assert other.take(stranger.mine, certificate=None, host=HOST) == "another network"
    assert other.key is None
    assert pair(one, other) == [None, None]
    assert other.take(one.mine, certificate=None, host=HOST) == "malformed"
