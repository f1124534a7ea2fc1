"""Nearly right samples, types and announcements: whatever arrives is read or refused, never anything else.

    python fuzz/samples.py --packets 1000000

Random types (final, appendable, mutable; optional members; enumerations; nested) give samples in both versions of XCDR
and both byte orders, descriptions of types, questions and answers of the type lookup service, and announcements with
every policy. Each is changed a little and read. A sample that is read can be written and read again, and is the same.
Readers announce filters: what is read of one is compiled by a writer that had another of the same reader, and chooses
who is to have a sample. Descriptions in the plain form are those that Fast DDS wrote.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from rookery.errors import RookeryError, WireFormatError
from rookery.participant.content_filters import WriterFilters
from rookery.rtps.announcements import ContentFilter, EndpointAnnouncement, decode_endpoint
from rookery.rtps.cdr import decode_key, decode_sample, encode_key, encode_sample
from rookery.rtps.identity import READER_KEYED, WRITER_KEYED, Guid
from rookery.rtps.qos import (
    XCDR1,
    XCDR2,
    DestinationOrder,
    Durability,
    Liveliness,
    Ownership,
    QualityOfService,
    Reliability,
    TypeConsistency,
)
from rookery.rtps.types import (
    CdrArray,
    CdrEnum,
    CdrMember,
    CdrSequence,
    CdrString,
    CdrStruct,
    Extensibility,
    Primitive,
    Type,
)
from rookery.rtps.xtypes.information import TypeInformation, read_information
from rookery.rtps.xtypes.lookup import TypeReply, TypeRequest, encode_types
from rookery.rtps.xtypes.objects import assemble, describe, read_object
from rookery.rtps.xtypes.plain_objects import read_plain_object

#: Words that lengths and counts are replaced by.
INTERESTING = (0, 1, 2, 4, 0x7F, 0xFF, 0x3F01, 0x3F02, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 28, 5 << 28)
ASKER = Guid(b"0123456789ab", 0x000300C3)
CASES = Path(__file__).resolve().parent.parent / "tests" / "cases" / "rtps"
#: What a writer filters for its readers; they name members of this type, or hardly.
FILTERED = CdrStruct(
    "Q", (CdrMember("s", CdrString()), CdrMember("p", Primitive.FLOAT64), CdrMember("n", Primitive.INT64))
)
CONDITIONS = (
    "p < 10 AND s = 'word'",
    "NOT (n BETWEEN 3 AND %0 OR s LIKE 'w%')",
    "((p >= %1)) OR n <> 7 AND s > 'a'",
    "n IN (1, 2, 3) OR p + n * 2 > %0",
)
FILTERED_READER = Guid(b"0123456789ab", 0x100 | READER_KEYED)
#: What one type is good for, before the next is made.
_OF_ONE_TYPE = 200


def random_type(dice: random.Random, depth: int) -> Type:
    """Return a type; structs end after two levels."""
    match dice.randrange(8 if depth < 2 else 4):
        case 0 | 1:
            return dice.choice(list(Primitive))
        case 2:
            return CdrString(dice.choice((None, 8)))
        case 3:
            return CdrEnum("E", (("A", 0), ("B", dice.choice((1, -5)))))
        case 4:
            return CdrSequence(random_type(dice, depth + 1), dice.choice((None, 4)))
        case 5:
            return CdrArray(random_type(dice, depth + 1), dice.randint(1, 3))
    return random_struct(dice, depth + 1)


def random_struct(dice: random.Random, depth: int = 0) -> CdrStruct:
    """Return a struct of one to four members; the first of the outermost is a key."""
    fields = [
        CdrMember(name, random_type(dice, depth), optional=dice.random() < 0.3) for name in "abcd"[: dice.randint(1, 4)]
    ]
    if depth == 0:
        fields.insert(0, CdrMember("k", Primitive.INT32, key=True))
    return CdrStruct(f"S{depth}", tuple(fields), dice.choice(list(Extensibility)))


def random_value(dice: random.Random, of: Type) -> Any:
    """Return a value of a type."""
    match of:
        case Primitive.BOOLEAN:
            return dice.random() < 0.5
        case Primitive.CHAR:
            return "x"
        case Primitive.FLOAT32 | Primitive.FLOAT64:
            return 0.5
        case Primitive():
            return dice.randrange(100)
        case CdrString():
            return "word"[: dice.randrange(5)]
        case CdrEnum():
            return dice.choice(of.members)[0]
        case CdrSequence() | CdrArray():
            count = of.length if isinstance(of, CdrArray) else dice.randrange(4)
            values = [random_value(dice, of.element) for _ in range(count)]
            return bytes(values) if of.element is Primitive.OCTET else values
        case CdrStruct():
            return {
                field.name: None if field.optional and dice.random() < 0.4 else random_value(dice, field.type)
                for field in of.fields
            }
    raise AssertionError(of)


def mutate(octets: bytes, dice: random.Random) -> bytes:
    """Return octets that are nearly right."""
    changed = bytearray(octets)
    for _ in range(dice.choice((1, 1, 2, 3))):
        at = dice.randrange(len(changed)) if changed else 0
        match dice.randrange(5):
            case 0 if changed:
                changed[at] ^= 1 << dice.randrange(8)
            case 1 if len(changed) - (at & ~3) >= 4:
                struct.pack_into(dice.choice("<>") + "I", changed, at & ~3, dice.choice(INTERESTING))
            case 2:
                del changed[at:]
            case 3:
                del changed[at : at + dice.choice((1, 2, 4))]
            case _:
                changed[at:at] = dice.randbytes(dice.choice((1, 2, 4, 8)))
    return bytes(changed)


def said(dice: random.Random) -> tuple[CdrStruct, list[tuple[str, bytes]]]:
    """Return a type, and what can be said with it."""
    of = random_struct(dice)
    value = random_value(dice, of)
    words = []
    for representation in (XCDR1, XCDR2):
        little = dice.random() < 0.8
        words.append(("sample", encode_sample(of, value, little=little, representation=representation)))
        words.append(("key", encode_key(of, value, little=little, representation=representation)))
    described = describe(of)
    words += [("object", octets) for octets in described.objects().values()]
    information = TypeInformation.of(described)
    words.append(("information", information.encode()))
    request = TypeRequest(ASKER, 7, tuple(described.objects()))
    words.append(("request", request.encode("dds.builtin.TOS.0")))
    words.append(("reply", encode_types(request, described.objects().items())))
    qos = QualityOfService(
        Reliability.RELIABLE,
        Durability.TRANSIENT_LOCAL,
        history_depth=dice.choice((None, 3)),
        deadline=2_000_000,
        partitions=("a", "b*"),
        liveliness=Liveliness.MANUAL_BY_TOPIC,
        liveliness_lease=5_000_000,
        representations=(XCDR1, XCDR2),
        lifespan=7_000_000,
        minimum_separation=1_000,
        user_data=b"of the plant",
        ownership=Ownership.EXCLUSIVE,
        ownership_strength=7,
        destination_order=DestinationOrder.BY_SOURCE,
        latency_budget=3_000,
        type_consistency=TypeConsistency(ignores_member_names=True),
    )
    for kind in (WRITER_KEYED, READER_KEYED):
        announced = EndpointAnnouncement(
            Guid(b"0123456789ab", 0x100 | kind), "t", "S0", qos, type_information=information
        )
        words.append(("endpoint", announced.encode()))
    wanted = ContentFilter("t", dice.choice(CONDITIONS), ("5", "1.5"))
    words.append(("filter", EndpointAnnouncement(FILTERED_READER, "t", "Q", content_filter=wanted).encode()))
    words.append(("condition", wanted.expression.encode()))
    words.append(("plain", dice.choice(_plain_objects())))
    return of, words


@cache
def _plain_objects() -> tuple[bytes, ...]:
    cases = json.loads((CASES / "fastdds_types.json").read_text())["cases"]
    return tuple(bytes.fromhex(case["octets"]) for case in cases)


@cache
def _filters() -> tuple[WriterFilters, bytes]:
    """Return a writer's filters, and a sample for them."""
    return WriterFilters(FILTERED), encode_sample(FILTERED, {"s": "word", "p": 2.5, "n": 4})


def _choose(wanted: ContentFilter | None) -> bool:
    """Let a writer go by a reader's filter from now on; say whether it compiled."""
    filters, sample = _filters()
    filters.set(FILTERED_READER, wanted)
    (choice,) = filters.choices([sample])
    assert choice.wanted <= choice.filtered <= {FILTERED_READER}
    return bool(len(filters))


def read(kind: str, octets: bytes, of: CdrStruct) -> None:
    """Read what was said; raise `WireFormatError` where it is wrong."""
    match kind:
        case "sample":
            found = decode_sample(of, octets)
            again = encode_sample(of, found)
            # By its octets: a number that is none is not equal to itself.
            assert encode_sample(of, decode_sample(of, again)) == again
        case "key":
            decode_key(of, octets)
        case "object":
            read_object(octets)
        case "information":
            read_information(octets, little=True)
        case "request":
            TypeRequest.decode(octets)
        case "reply":
            reply = TypeReply.decode(octets)
            objects = {name: read_object(each) for name, each in (reply.objects if reply is not None else ())}
            for name in objects:
                assemble(name, objects)
        case "endpoint":
            announced = decode_endpoint(octets)
            assert decode_endpoint(replace(announced, locators=()).encode()).qos == announced.qos
        case "filter":
            announced = decode_endpoint(octets)
            again = decode_endpoint(replace(announced, type_information=None, type_object=b"").encode())
            assert again.content_filter == announced.content_filter
            _choose(announced.content_filter)
        case "condition":
            if not _choose(ContentFilter("t", octets.decode("utf-8", "replace"), ("5", "1.5"))):
                raise WireFormatError("a condition that asks for everything")
        case "plain":
            read_plain_object(octets)


def run(packets: int, seed: int) -> dict[str, int]:
    """Read that many changed words; return how many of each kind were read and refused."""
    dice = random.Random(seed)
    totals: dict[str, int] = {"packets": packets}
    of, words = said(dice)
    for number in range(packets):
        if number % _OF_ONE_TYPE == 0:
            of, words = said(dice)
        kind, octets = dice.choice(words)
        changed = mutate(octets, dice)
        try:
            read(kind, changed, of)
            verdict = "read"
        except WireFormatError:
            verdict = "refused"
        except RookeryError as error:
            raise AssertionError(f"seed {seed}, {number}: {kind} {changed.hex()} of {of}: {error}") from error
        except Exception as error:
            raise AssertionError(f"seed {seed}, {number}: {kind} {changed.hex()} of {of}") from error
        totals[f"{kind} {verdict}"] = totals.get(f"{kind} {verdict}", 0) + 1
    return totals


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    began = time.process_time()
    totals = run(arguments.packets, arguments.seed)
    print(json.dumps({**totals, "cpu_seconds": round(time.process_time() - began, 1)}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
