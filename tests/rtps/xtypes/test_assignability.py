"""Which types fit, with Cyclone DDS as the oracle: a pair of endpoints of its own either finds itself or does not."""

from __future__ import annotations

import os
import random
from dataclasses import astuple, replace
from itertools import islice
from typing import Any

import pytest

from rookery.rtps.qos import TypeConsistency
from rookery.rtps.types import CdrEnum, CdrMember, CdrSequence, CdrString, CdrStruct, Extensibility, Primitive
from rookery.rtps.xtypes.assignability import mismatch, spoken

pytest.importorskip("cyclonedds", reason="cyclonedds is not installed: pip install cyclonedds==11.0.1")

from .random_types import cyclone_type, pairs

PRICE = CdrStruct("Quote", (CdrMember("symbol", CdrString(), key=True), CdrMember("price", Primitive.FLOAT64)))


@pytest.fixture(scope="module")
def cyclone_matches() -> Any:
    """Ask Cyclone DDS whether a reader of one type and a writer of another are a pair."""
    os.environ["CYCLONEDDS_URI"] = (
        '<CycloneDDS><Domain Id="any"><General><Interfaces><NetworkInterface name="lo"/></Interfaces>'
        "<AllowMulticast>false</AllowMulticast></General></Domain></CycloneDDS>"
    )
    from cyclonedds.core import Qos
    from cyclonedds.domain import DomainParticipant
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic

    reading, writing = DomainParticipant(57 * 4 + 1), DomainParticipant(57 * 4 + 1)

    def ask(number: int, reader: CdrStruct, writer: CdrStruct, by: TypeConsistency | None = None) -> bool:
        # Endpoints of one process are compared when the second is made, without a packet and without a wait.
        topics = (
            Topic(reading, f"t{number}", cyclone_type(reader)),
            Topic(writing, f"t{number}", cyclone_type(writer)),
        )
        qos = None if by is None else Qos(cyclone_consistency(by))
        writes, reads = DataWriter(writing, topics[1]), DataReader(reading, topics[0], qos=qos)
        found = len(reads.get_matched_publications()) == 1
        del reads, writes
        return found

    return ask


def cyclone_consistency(by: TypeConsistency) -> Any:
    """Return a reader's policy as Cyclone DDS has it."""
    from cyclonedds.core import Policy

    coercion, *others = astuple(by)
    if coercion:
        return Policy.TypeConsistency.AllowTypeCoercion(*others)
    return Policy.TypeConsistency.DisallowTypeCoercion(by.forces_validation)


def compare_by_policy(ask: Any, count: int, seed: int) -> None:
    """Judge random pairs by random policies of the reader."""
    dice = random.Random(seed)
    verdicts: dict[bool, int] = {True: 0, False: 0}
    unlike_default = 0
    for number, (reader, writer) in enumerate(islice(pairs(seed), count)):
        by = TypeConsistency(dice.random() < 0.8, *(dice.random() < 0.5 for _ in range(5)))
        keyed_alike = reader.is_keyed == writer.is_keyed
        fits = keyed_alike and mismatch(reader, writer, by=by) is None
        assert ask(seed * count + number, reader, writer, by) == fits, (reader, writer, by)
        verdicts[fits] += 1
        unlike_default += keyed_alike and fits != (mismatch(reader, writer) is None)
    assert min(verdicts.values()) > count / 20
    assert unlike_default > count / 20


def compare(ask: Any, count: int, seed: int) -> None:
    fitting = 0
    for number, (reader, writer) in enumerate(islice(pairs(seed), count)):
        # A keyed and a keyless topic are told apart before the types are looked at.
        apart = mismatch(reader, writer) if reader.is_keyed == writer.is_keyed else True
        assert ask(seed * count + number, reader, writer) == (apart is None), (reader, writer, apart)
        fitting += apart is None
    assert count / 20 < fitting < count / 2


def test_200_pairs_are_judged_as_cyclone_does(cyclone_matches: Any) -> None:
    compare(cyclone_matches, 200, seed=1)


def test_200_pairs_are_judged_by_the_readers_policy_as_cyclone_does(cyclone_matches: Any) -> None:
    compare_by_policy(cyclone_matches, 200, seed=3)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_10_000_pairs_are_judged_by_the_readers_policy_as_cyclone_does(cyclone_matches: Any) -> None:
    compare_by_policy(cyclone_matches, 10_000, seed=4)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_10_000_pairs_are_judged_as_cyclone_does(cyclone_matches: Any) -> None:
    compare(cyclone_matches, 10_000, seed=2)


def test_the_reason_names_the_member_and_both_types() -> None:
    other = replace(PRICE, fields=(PRICE.fields[0], CdrMember("price", Primitive.INT64)))
    apart = mismatch(PRICE, other)
    assert apart is not None
    assert apart.told(we_read=True) == "price is int64 there, float64 here"
    assert apart.told(we_read=False) == "price is float64 there, int64 here"


@pytest.mark.parametrize(
    ("reader", "writer", "told"),
    [
        (
            ("a", CdrSequence(Primitive.INT8)),
            ("a", CdrSequence(Primitive.OCTET)),
            "an element of a is octet there, int8 here",
        ),
        (("a", CdrString()), ("b", CdrString()), "member 0 is b there, a here"),
        (
            ("a", CdrEnum("E", (("X", 0),))),
            ("a", CdrEnum("E", (("Y", 0),))),
            "a is one of Y = 0 there, one of X = 0 here",
        ),
        (("a", PRICE), ("a", replace(PRICE, fields=PRICE.fields[:1])), "a.the number of members is 1 there, 2 here"),
    ],
)
def test_reasons(reader: Any, writer: Any, told: str) -> None:
    apart = mismatch(CdrStruct("T", (CdrMember(*reader),)), CdrStruct("T", (CdrMember(*writer),)))
    assert apart is not None
    assert apart.told(we_read=True) == told


def test_an_appendable_struct_may_grow_and_a_final_one_may_not() -> None:
    longer = replace(PRICE, fields=(*PRICE.fields, CdrMember("size", Primitive.INT64)))
    assert mismatch(PRICE, longer) is not None
    grown, old = (replace(each, extensibility=Extensibility.APPENDABLE) for each in (longer, PRICE))
    assert mismatch(old, grown) is None
    assert mismatch(grown, old) is None
    assert mismatch(PRICE, old) is not None


def test_types_are_spoken_as_people_write_them() -> None:
    assert spoken(CdrSequence(CdrString(8), 3)) == "sequence<string<8>, 3>"
    assert spoken(Primitive.FLOAT32) == "float32"
