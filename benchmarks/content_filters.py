"""A writer whose remote readers have filters: how many samples a second it matches, and sends, with so many of them.

`python -m benchmarks content_filters [--filters 10000] [--samples 8000]`. Each filter names a symbol of 1,000 and a
range of prices, so a sample is for a few readers; the readers are in four participants. *matched* is who wants each
sample, decoding included; *sent* is all of it: the history, datagrams to those who want a sample, one HEARTBEAT each a
burst. Nobody answers, as nobody is there. CPU of the process.
"""

from __future__ import annotations

import argparse
import random
import time

from rookery.model import Schema
from rookery.participant.content_filters import WriterFilters
from rookery.participant.event_types import event_type
from rookery.rtps import Address, Limits
from rookery.rtps.announcements import ContentFilter
from rookery.rtps.context import ParticipantContext
from rookery.rtps.events import SampleKind
from rookery.rtps.history import History
from rookery.rtps.identity import Guid
from rookery.rtps.peers import Destination
from rookery.rtps.writer import Writer

__all__ = ["main"]

TYPE = event_type(Schema(symbol=str, price=float, size=int), type_name="Quote")
PARTICIPANTS = 4
SYMBOLS = 1_000


def main(arguments: list[str]) -> int:
    """Match and send in bursts of several sizes, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks content_filters")
    parser.add_argument("--filters", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=8_000)
    parser.add_argument("--bursts", type=int, nargs="+", default=[1, 16, 64, 256, 512])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    dice = random.Random(options.seed)
    filters = WriterFilters(TYPE.struct)
    context = ParticipantContext(
        b"writer......",
        limits=Limits(history_samples=4 * options.samples),
        networks=(),
        datagram_bytes=1_400,
        epoch=0,
    )
    before = time.process_time()
    guids = [Guid(bytes([number % PARTICIPANTS]) * 12, number << 8 | 7) for number in range(options.filters)]
    for guid in guids:
        low = dice.uniform(0, 1_000)
        text = f"symbol = 'S{dice.randrange(SYMBOLS)}' AND price BETWEEN {low:.2f} AND {low + 300:.2f}"
        filters.set(guid, ContentFilter("quotes", text))
    print(f"{options.filters:,} filters, {(time.process_time() - before) / options.filters * 1e6:,.0f} µs each")
    payloads = [
        TYPE.encode({"symbol": f"S{dice.randrange(SYMBOLS)}", "price": dice.uniform(0, 1_000), "size": number})
        for number in range(options.samples)
    ]
    filters.choices(payloads[:64])
    filters.choices(payloads[:1])
    for burst in options.bursts:
        some = payloads if burst >= 16 else payloads[:1_000]
        before = time.process_time()
        wanted = sum(
            len(choice.wanted)
            for first in range(0, len(some), burst)
            for choice in filters.choices(some[first : first + burst])
        )
        matched = (time.process_time() - before) / len(some)
        history = History(depth=None, keeps_for_late_readers=False, at_most=4 * options.samples)
        writer = Writer(Guid(context.prefix, 0x103), history=history, context=context, sieve=filters)
        for guid in guids:
            to = Destination(guid.prefix, Address("127.0.0.1", 7_410 + guid.prefix[0]))
            writer.match(guid, destination=to, reliable=True, with_history=False, now=0)
        context.outbox.sends()
        before = time.process_time()
        for first in range(0, len(some), burst):
            for payload in some[first : first + burst]:
                writer.write(SampleKind.ALIVE, b"", payload, timestamp=first, now=first)
            context.outbox.sends()
        sent = (time.process_time() - before) / len(some)
        writer.close()
        print(
            f"bursts of {burst:>4}: matched {1 / matched:>9,.0f} a second ({matched * 1e6:.1f} µs), "
            f"sent {1 / sent:>8,.0f} a second ({sent * 1e6:.1f} µs), {wanted / len(some):.1f} readers a sample",
            flush=True,
        )
    return 0
