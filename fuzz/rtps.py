"""A structured fuzzer for the RTPS codec and the participant: nearly right datagrams, not random ones.

    python fuzz/rtps.py --packets 1000000 --seed 1      mutate real datagrams, report the rate and the tables
    python fuzz/rtps.py --write-corpus DIR              write the datagrams as files, for libFuzzer to begin with
    python fuzz/rtps.py --atheris DIR -runs=1000000     the same target under libFuzzer, if atheris is installed

The participant under attack takes the place of one of the two Cyclone DDS participants that the golden datagrams were
captured from: it has that participant's prefix and its readers and writers, so that the datagrams are addressed to it,
its endpoints match, and mutations reach the reliable machinery. Half of the time it is one of some Rookery participants
that go by summaries, with any of the discovery protocols, sealed or not; their conversations come from the simulator.
After every packet: nothing was raised, every table is within its (small) limits, and what is sent to addresses that
never answered is within the amplification limit.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from msgspec import structs

from rookery.discovery import PROTOCOLS
from rookery.machine import Emit, Send
from rookery.participant import Participant, ParticipantConfiguration
from rookery.rtps import Address, Durability, Limits, QualityOfService, Reliability
from rookery.rtps.events import LivelinessChanged, MessageRejected
from rookery.rtps.identity import VENDOR, is_builtin
from rookery.rtps.messages import HEADER_LENGTH, decode_message, encode_message
from rookery.rtps.qos import Liveliness
from rookery.rtps.sequences import NumberSet
from rookery.rtps.submessages import Data, DataFragment, HeartbeatFragment, Submessage, ToParticipant
from rookery.rtps.types import CdrEnum, CdrMember, CdrSequence, CdrString, CdrStruct
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant

CASES = Path(__file__).resolve().parent.parent / "tests" / "cases" / "rtps"
LIMITS = Limits(
    participants=8,
    endpoints=64,
    endpoints_per_participant=32,
    locators=2,
    sample_bytes=1 << 16,
    fragment_bytes=1 << 18,
    fragmented_samples=8,
    reorder_window=64,
    reorder_bytes=1 << 18,
    history_samples=64,
    queued_events=256,
    summary_bytes=4_096,
    type_bytes=1_024,
    contacts_per_second=20,
)
RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, durability=Durability.TRANSIENT_LOCAL, history_depth=8)
#: What Rookery's own participants ask for besides: so there are signs of life on the wire, of two kinds.
ALIVE = replace(RELIABLE, liveliness_lease=4_000_000)
BY_PROGRAM = replace(RELIABLE, liveliness=Liveliness.MANUAL_BY_PARTICIPANT, liveliness_lease=200_000)
INTERESTING = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
#: The narrowest field of these is narrower than a sequence number.
WIDTHS = {DataFragment: 0xFFFF, HeartbeatFragment: 0xFFFFFFFF}
NUMBERS = ("sequence", "first", "last", "start", "count", "sample_size")
TOPICS = (("hello", "test::Message", False), ("quotes", "test::Quote", True), ("mixed", "test::Mixed", False))


#: The type that everyone has but the one under attack, whose own differs in a bound: so each asks the others.
TYPE = CdrStruct(
    "T",
    (
        CdrMember("color", CdrEnum("Color", (("RED", 0), ("BLUE", 1)))),
        CdrMember("words", CdrSequence(CdrString(), 9)),
        CdrMember("text", CdrString(20)),
    ),
)
OWN_TYPE = replace(TYPE, fields=(*TYPE.fields[:2], CdrMember("text", CdrString())))


def corpus() -> list[bytes]:
    """Return the golden datagrams: Cyclone's, our own, and every one that once broke something."""
    found: list[bytes] = []
    for name in ("cyclone", "rookery", "regressions"):
        path = CASES / f"{name}.json"
        if path.exists():
            found += [bytes.fromhex(case["octets"]) for case in json.loads(path.read_text())["cases"]]
    return found


@dataclass(frozen=True)
class Conversation:
    """What was said to one participant, and what that participant is."""

    datagrams: tuple[bytes, ...]
    prefix: bytes
    protocol: str = "simple"
    key: bytes | None = None


@cache
def conversations() -> tuple[Conversation, ...]:
    """Return conversations between participants with summaries, as the simulator plays them: always the same."""
    found = []
    for number, protocol in enumerate(PROTOCOLS[1:]):
        key = b"a key of 16 octets or more" if number % 2 else None
        heard: list[bytes] = []

        network = SimulatedNetwork(number)

        def hear(sender: SimulatedParticipant, datagram: bytes, to: Address) -> None:
            if sender.address != next(iter(network.participants)):  # noqa: B023 - used before the loop goes on
                heard.append(datagram)  # noqa: B023

        network.on_datagram = hear
        # The second has so many endpoints that its summary is announced by reference.
        members = [network.join(discovery=protocol, pre_shared_key=key) for _ in range(3)]
        for member, noise in zip(members, (0, 400, 5), strict=True):
            of = OWN_TYPE if member is members[0] else TYPE
            for topic, type_name, keyed in TOPICS:
                offered = BY_PROGRAM if keyed else ALIVE
                member.participant.create_writer(topic, type_name, offered, keyed=keyed, now=0, type=of)
                member.participant.create_reader(topic, type_name, ALIVE, keyed=keyed, now=0, type=of)
            for index in range(noise):
                member.participant.create_writer(f"noise{index}", "T", RELIABLE, keyed=False, now=0)
            member.flush()
        for _ in range(2):
            members[1].participant.assert_liveliness(members[1].now)
            members[1].flush()
            network.run(1_500_000)
        members[1].participant.create_writer("late", "T", RELIABLE, keyed=False, now=members[1].now)
        members[1].flush()
        network.run(3_000_000)
        members[2].leave()
        found.append(Conversation(tuple(dict.fromkeys(heard)), members[0].participant.prefix, protocol, key))
    return tuple(found)


def vary(datagram: bytes, us: bytes, number: int, dice: random.Random) -> bytes:
    """Return a well-formed datagram that says something else, mostly to us; `number` grows from packet to packet."""
    message = decode_message(datagram)
    said: list[Submessage] = []
    for submessage in message.submessages:
        if isinstance(submessage, ToParticipant) and dice.random() < 0.9:
            submessage = ToParticipant(us)
        elif dice.random() < 0.6:
            changes: dict[str, Any] = {}
            for field in structs.fields(submessage):
                value = getattr(submessage, field.name)
                if field.name == "count" and not isinstance(submessage, DataFragment):
                    # Mostly newer than the last one, or the rest of the conversation would be old news.
                    changes["count"] = value + number if dice.random() < 0.95 else dice.choice(INTERESTING)
                elif field.name in NUMBERS and dice.random() < 0.7:
                    # Small steps: a number far ahead makes everything after it old.
                    value += dice.choice((0, 1, 2, dice.randrange(40), number % 500 // 8, number % 500 // 8))
                    value = 1 << 40 if dice.random() < 0.005 else value
                    changes[field.name] = value & WIDTHS.get(type(submessage), (1 << 63) - 1)
                elif isinstance(value, NumberSet) and dice.random() < 0.7:
                    length = dice.randrange(257)
                    changes[field.name] = NumberSet(value.base + dice.randrange(20), length, dice.getrandbits(length))
                elif field.name in ("final", "key_only", "liveliness") and dice.random() < 0.2:
                    changes[field.name] = not value
            if "first" in changes and "last" in changes and dice.random() < 0.9:
                changes["last"] = max(changes["first"] - 1, changes["last"])
            submessage = structs.replace(submessage, **changes)
        said += [submessage] * dice.choice((1, 1, 1, 2))
    if dice.random() < 0.2:
        dice.shuffle(said)
    little = dice.random() < 0.8
    return encode_message(message.prefix, said, little=little)


def mutate(datagram: bytes, others: list[bytes], dice: random.Random) -> bytes:
    """Return a datagram that is nearly right."""
    octets = bytearray(datagram)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        kind = dice.randrange(9)
        # The header decides whether anything is read at all: leave it alone most of the time.
        low = 0 if dice.random() < 0.05 else min(HEADER_LENGTH, len(octets))
        at = dice.randrange(low, len(octets)) if low < len(octets) else 0
        if kind == 0 and octets:
            octets[at] ^= 1 << dice.randrange(8)
        elif kind == 1 and octets:
            octets[at] = dice.randrange(256)
        elif kind == 2 and len(octets) - at >= 4:
            struct.pack_into(dice.choice(("<I", ">I")), octets, at, dice.choice(INTERESTING))
        elif kind == 3 and len(octets) - at >= 2:
            struct.pack_into(dice.choice(("<H", ">H")), octets, at, dice.choice(INTERESTING) & 0xFFFF)
        elif kind == 4:
            del octets[at:]
        elif kind == 5:
            del octets[at : at + dice.choice((1, 2, 4, 8, 16))]
        elif kind == 6:
            octets[at:at] = dice.randbytes(dice.choice((1, 2, 4, 8, 64)))
        elif kind == 7:
            octets += dice.choice(others)[HEADER_LENGTH:]
        elif kind == 8 and len(octets) - at >= 8:
            struct.pack_into("<iI", octets, at, dice.choice((0, 1, -1, 0x7FFFFFFF)), dice.choice(INTERESTING))
    return bytes(octets[:65_507])


class Target:
    """A participant in the middle of a conversation, and what must hold of it after every packet."""

    def __init__(self, conversation: Conversation) -> None:
        prefix = conversation.prefix
        # Cyclone's datagrams were captured in domain 7, ours in domain 0.
        configuration = ParticipantConfiguration(
            prefix=prefix,
            unicast=Address("127.0.0.1", 9_999),
            domain_id=0 if prefix.startswith(VENDOR) else 7,
            limits=LIMITS,
            discovery=conversation.protocol,
            pre_shared_key=conversation.key,
        )
        self.participant = Participant(configuration)
        self.now = 0
        self.sent = 0
        self.events = 0
        self.lapses = 0
        for topic, type_name, keyed in TOPICS:
            common = {"keyed": keyed, "now": 0, "type": OWN_TYPE if prefix.startswith(VENDOR) else None}
            is_ours = prefix.startswith(VENDOR)
            self.writer = self.participant.create_writer(topic, type_name, ALIVE if is_ours else RELIABLE, **common)
            self.participant.create_reader(topic, type_name, ALIVE if is_ours else RELIABLE, **common)
            self.participant.write(self.writer, b"\0\1\0\0" + bytes(4_000), now=0)
        self.participant.start(0)
        for datagram in conversation.datagrams[:60]:
            if not _ends_something(datagram):
                self.receive(datagram, Address("127.0.0.1", 40_000))

    def receive(self, datagram: bytes, sender: Address) -> None:
        """Take one packet in and check everything."""
        self.now += 2_000
        self.participant.receive_many((datagram,), sender, self.now)
        due = self.participant.timer()
        if due is not None and due <= self.now:
            self.participant.wake(self.now)
        sent = 0
        for effect in self.participant.effects():
            if isinstance(effect, Send):
                sent += len(effect.message)
            elif isinstance(effect, Emit):
                self.events += not isinstance(effect.event, MessageRejected)
                self.lapses += isinstance(effect.event, LivelinessChanged)
        self.sent += sent
        self.check(sent)

    def check(self, sent: int) -> None:
        """Raise if a table is over its limit or a packet caused too much."""
        participant = self.participant
        peers = participant.peers
        assert len(peers) <= LIMITS.participants
        assert len(participant.remote_endpoints) <= LIMITS.endpoints
        assert participant.summary_bytes <= LIMITS.summary_bytes
        assert participant.type_bytes <= LIMITS.type_bytes
        # One packet of at most 64 KiB and what falls due at one time may not cause megabytes.
        assert sent < 4 << 20, sent
        for peer in peers:
            assert peer.bytes_out <= LIMITS.amplification * peer.bytes_in
        assert participant.held_bytes <= LIMITS.fragment_bytes + 256 * LIMITS.reorder_bytes


def _ends_something(datagram: bytes) -> bool:
    return any(isinstance(s, Data) and s.key_only for s in decode_message(datagram).submessages)


def _has_samples(datagram: bytes) -> bool:
    submessages = decode_message(datagram).submessages
    return any(isinstance(s, Data | DataFragment) and not is_builtin(s.writer) for s in submessages)


@cache
def _sorted(conversation: Conversation) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Return all datagrams, those that end nothing, and those of them that carry samples (or all, if none does)."""
    lively = [datagram for datagram in conversation.datagrams if not _ends_something(datagram)]
    return list(conversation.datagrams), lively, [each for each in lively if _has_samples(each)] or lively


def prefixes(datagrams: list[bytes]) -> list[bytes]:
    """Return the participants that the datagrams are addressed to."""
    found: dict[bytes, None] = {}
    for datagram in datagrams:
        for submessage in decode_message(datagram).submessages:
            if isinstance(submessage, ToParticipant) and any(submessage.prefix):
                found[submessage.prefix] = None
    return list(found)


def run(packets: int, seed: int) -> dict[str, int]:
    """Send that many mutated packets; return what came of them."""
    dice = random.Random(seed)
    captured = tuple(corpus())
    plain = [Conversation(captured, prefix) for prefix in prefixes(list(captured))]
    totals = {
        "packets": packets,
        "rejected": 0,
        "events": 0,
        "bytes_out": 0,
        "targets": 0,
        "bad_summaries": 0,
        "lapses": 0,
    }
    target: Target | None = None
    for number in range(packets):
        if target is None or number % 500 == 0:
            # A fresh conversation now and then: mutations end up saying goodbye for everyone.
            conversation = dice.choice(dice.choice((plain, conversations())))
            target = Target(conversation)
            totals["targets"] += 1
            datagrams, lively, samples = _sorted(conversation)
        packet = dice.choice(dice.choice((lively, samples)) if dice.random() < 0.995 else datagrams)
        if dice.random() < 0.05:
            # The same words from a stranger: wherever the sender's prefix stands, another one does.
            packet = packet.replace(packet[8:HEADER_LENGTH], b"stranger" + dice.randbytes(1) * 4)
        way = dice.randrange(4)
        if way != 0:
            packet = vary(packet, target.participant.prefix, number, dice)
        if way != 1:
            packet = mutate(packet, datagrams, dice)
        host = f"127.0.0.{dice.randrange(1, 4)}"
        rejected, events, sent = target.participant.counters["rejected"], target.events, target.sent
        lapses = target.lapses
        bad = target.participant.counters["unreadable_summary"]
        try:
            target.receive(packet, Address(host, 40_000))
        except Exception:
            sys.stderr.write(f"seed {seed}, packet {number}: {packet.hex()}\n")
            raise
        totals["rejected"] += target.participant.counters["rejected"] - rejected
        totals["events"] += target.events - events
        totals["bytes_out"] += target.sent - sent
        totals["lapses"] += target.lapses - lapses
        totals["bad_summaries"] += target.participant.counters["unreadable_summary"] - bad
    return totals


def functions_under_test() -> list[FunctionType]:
    """Return the functions of the codec, the node and the discovery: to follow the libraries' too takes minutes."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith(("rookery.rtps", "rookery.participant", "rookery.discovery")):
            for thing in list(vars(module).values()):
                members = vars(thing).values() if isinstance(thing, type) else [thing]
                for member in members:
                    function = getattr(member, "__func__", getattr(member, "fget", member))
                    if isinstance(function, FunctionType) and function.__module__.startswith("rookery."):
                        found[id(function)] = function
    return list(found.values())


def run_atheris(arguments: list[str]) -> None:
    """Hand the target to libFuzzer; a conversation lasts for 500 inputs, since to begin one costs as much as 100."""
    try:
        import atheris
    except ImportError:
        raise SystemExit("libFuzzer's Python is not installed: pip install atheris") from None

    captured = corpus()
    choices = [Conversation(tuple(captured), prefixes(captured)[0]), *conversations()]
    for function in functions_under_test():
        atheris.instrument_func(function)
    target, inputs = Target(choices[0]), 0

    def one_input(octets: bytes) -> None:
        nonlocal target, inputs
        inputs += 1
        if inputs % 500 == 0:
            target = Target(choices[inputs // 500 % len(choices)])
        target.receive(octets, Address("127.0.0.1", 40_000))

    atheris.Setup([sys.argv[0], *arguments], one_input)
    atheris.Fuzz()


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write-corpus", type=Path, metavar="DIR")
    parser.add_argument("--atheris", action="store_true", help="what follows goes to libFuzzer")
    arguments, rest = parser.parse_known_args()
    if arguments.write_corpus is not None:
        arguments.write_corpus.mkdir(parents=True, exist_ok=True)
        said = [datagram for conversation in conversations() for datagram in conversation.datagrams]
        for number, datagram in enumerate([*corpus(), *said]):
            (arguments.write_corpus / f"{number:04}").write_bytes(datagram)
        return 0
    if arguments.atheris:
        run_atheris(rest)
        return 0
    if rest:
        parser.error(f"what is {' '.join(rest)}?")
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    totals = run(arguments.packets, arguments.seed)
    seconds = time.perf_counter() - began
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({**totals, "seconds": round(seconds, 1), "memory_growth_kib": grown}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
