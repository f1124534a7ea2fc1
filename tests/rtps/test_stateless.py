"""One thing, repeated to whom it is sent: under one number until it changes."""

from __future__ import annotations

from rookery.rtps.events import SampleKind
from rookery.rtps.identity import SPDP_READER, SPDP_WRITER, UNKNOWN_PREFIX
from rookery.rtps.locators import Address
from rookery.rtps.messages import decode_message
from rookery.rtps.outbox import Outbox
from rookery.rtps.peers import Destination
from rookery.rtps.stateless import StatelessWriter
from rookery.rtps.submessages import Data

EVERYONE = Destination(UNKNOWN_PREFIX, Address("127.0.0.1", 1))


def test_the_number_changes_with_the_content_alone_and_a_brief_form_stands_for_it() -> None:
    outbox = Outbox(b"p" * 12, datagram_bytes=1_400, permit=lambda *_: True)
    writer = StatelessWriter(reader=SPDP_READER, writer=SPDP_WRITER, outbox=outbox)

    def said(*, brief: bool = False) -> Data:
        writer.send(EVERYONE, timestamp=7, brief=brief)
        ((_, datagram),) = outbox.sends()
        (data,) = (one for one in decode_message(datagram).submessages if isinstance(one, Data))
        return data

    writer.set(SampleKind.ALIVE, b"long", key_hash=bytes(16), brief=b"tiny")
    assert [(one.sequence, one.payload) for one in (said(), said(), said(brief=True))] == [
        (1, b"long"),
        (1, b"long"),
        (1, b"tiny"),
    ]
    writer.set(SampleKind.ALIVE, b"news", key_hash=bytes(16))
    assert [(one.sequence, one.payload) for one in (said(), said(brief=True))] == [(2, b"news")] * 2
    writer.set(SampleKind.DISPOSED_AND_UNREGISTERED, b"key.", key_hash=bytes(range(16)))
    goodbye = said()
    assert (goodbye.sequence, goodbye.key_only) == (3, True)
    assert [parameter.value for parameter in goodbye.inline] == [bytes(range(16)), bytes((0, 0, 0, 3))]
