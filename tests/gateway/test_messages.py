"""Messages between gateways: read as they were written, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.gateway.messages import (
    Acknowledgment,
    Body,
    Envelope,
    Forwarded,
    Greeting,
    Message,
    Offer,
    Ready,
    Recipient,
    SiteState,
    Want,
    Withdraw,
    decode_body,
    decode_message,
    encode,
)

from .bodies import BODIES, MESSAGES

#: One of each, and its bytes: a gateway of another version must read them.
GOLDEN: dict[str, Message | Body] = {
    "9301a6736974652d6105": Greeting("site-a", 5),
    "9602a161050291a162c40173": SiteState("a", 5, 2, ["b"], b"s"),
    "9503a161009194a162070306c4026869": Envelope("a", 0, [Recipient("b", 7, 3, 6)], b"hi"),
    "9604a162a161070400": Acknowledgment("b", "a", 7, 4, 0),
    "9b0101a174a154c2c3c291a170c002c40169": Offer(1, "t", "T", False, True, False, ["p"], None, 2, b"i"),
    "920209": Withdraw(9),
    "960301c391a45452554581a178a5696e74363402": Want(1, True, ["TRUE"], {"x": "int64"}, 2),
    "970401c401770700c400c40170": Forwarded(1, b"w", 7, 0, b"", b"p"),
    "9405070191c4016f": Ready(7, 1, [b"o"]),
}


@given(BODIES)
def test_a_body_is_read_as_it_was_written(body: Body) -> None:
    assert decode_body(encode(body)) == body


@given(MESSAGES)
def test_a_message_is_read_as_it_was_written(message: Message) -> None:
    assert decode_message(encode(message)) == message


@pytest.mark.parametrize(("data", "message"), GOLDEN.items())
def test_bytes_on_the_wire(data: str, message: Message | Body) -> None:
    assert encode(message).hex() == data


def test_what_gateways_said_before_types_crossed_is_read() -> None:
    offer = Offer(1, "t", "T", False, True, False, ["p"], None)
    assert decode_body(bytes.fromhex("990101a174a154c2c3c291a170c0")) == offer
    assert decode_body(bytes.fromhex("93050701")) == Ready(7, 1)


@given(st.binary(max_size=60))
def test_nothing_is_raised_at_bytes_that_are_no_message(data: bytes) -> None:
    decode_message(data)
    decode_body(data)


def test_text_that_is_no_utf8_is_no_message() -> None:
    greeting, want = encode(Greeting("site-a", 1)), encode(Want(1, True, ["x > 1"], {}, 1))
    assert decode_message(greeting) == Greeting("site-a", 1)
    assert decode_body(want) == Want(1, True, ["x > 1"], {}, 1)
    assert decode_message(greeting.replace(b"site-a", b"\xff\xfete-a")) is None
    assert decode_body(want.replace(b"x > 1", b"x > \xff")) is None
