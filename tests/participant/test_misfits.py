"""Who is apart, seen by who only looks: the same pairs that the participants themselves do not make."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest

from rookery.participant.misfits import Misfit, misfits
from rookery.rtps.identity import Guid
from rookery.rtps.qos import (
    INFINITE,
    XCDR1,
    XCDR2,
    Durability,
    Liveliness,
    QualityOfService,
    Reliability,
    TypeConsistency,
)
from rookery.rtps.types import CdrMember, CdrString, CdrStruct, Extensibility, Primitive
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant

SECOND = 1_000_000
RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
QUOTE = CdrStruct("Quote", (CdrMember("symbol", CdrString(), key=True), CdrMember("price", Primitive.FLOAT64)))
WHOLE = replace(QUOTE, fields=(QUOTE.fields[0], CdrMember("price", Primitive.INT64)))
POLICIES = [
    *[TypeConsistency()] * 3,
    TypeConsistency(coercion=False),
    TypeConsistency(forces_validation=True),
]
GROWING = replace(QUOTE, extensibility=Extensibility.APPENDABLE)
#: Another hash, and fits.
BOUNDED = replace(QUOTE, fields=(QUOTE.fields[0], replace(QUOTE.fields[1], id=1)))


def make(
    member: SimulatedParticipant,
    kind: str,
    *,
    of: CdrStruct | None = QUOTE,
    qos: QualityOfService = RELIABLE,
    topic: str = "quotes",
    name: str = "Quote",
    keyed: bool = True,
) -> Guid:
    create = member.participant.create_writer if kind == "writer" else member.participant.create_reader
    guid = create(topic, name, qos, keyed=keyed, now=member.now, type=of)
    member.flush()
    return guid


def looked_at(network: SimulatedNetwork, observer: SimulatedParticipant) -> list[Misfit]:
    """Look a few times, as the survey does: what is asked for at one look counts at a later one."""
    for _ in range(20):
        misfits(observer.participant, observer.now)
        observer.flush()
        network.run(SECOND // 4)
    return misfits(observer.participant, observer.now)


@pytest.mark.parametrize("protocol", ["simple", "ribbon"])
def test_a_reason_for_each_that_is_apart(protocol: str) -> None:
    network = SimulatedNetwork(1)
    one, other = (network.join(discovery=protocol) for _ in range(2))
    observer = network.join(observer=True)
    writer = make(one, "writer", qos=replace(RELIABLE, deadline=2 * SECOND))
    same, more = make(other, "reader"), make(other, "reader", of=BOUNDED)
    wrong = make(other, "reader", of=WHOLE)
    late = make(other, "reader", qos=replace(RELIABLE, durability=Durability.TRANSIENT_LOCAL, deadline=SECOND))
    unkeyed, named = make(other, "reader", keyed=False), make(other, "reader", name="Price")
    make(other, "reader", topic="news")
    make(other, "reader", qos=replace(RELIABLE, partitions=("elsewhere",)), of=WHOLE)  # meant to be apart
    alive = replace(RELIABLE, liveliness=Liveliness.MANUAL_BY_TOPIC, representations=(XCDR2,))
    signed = make(other, "reader", qos=alive)
    found = looked_at(network, observer)
    assert {(one.writers, one.readers): one.reasons for one in found} == {
        ((writer,), (wrong,)): ("price is float64 at the writer, int64 at the reader",),
        ((writer,), (late,)): (
            "durability volatile is offered, transient local asked for",
            "deadline 2 s is offered, 1 s asked for",
        ),
        ((writer,), (unkeyed,)): ("the writer has a key, the reader has none",),
        ((writer,), (named,)): ("the type is named Quote at the writer, Price at the reader",),
        ((writer,), (signed,)): (
            "liveliness automatic is offered, manual by topic asked for",
            "data representation",
        ),
    }
    assert {same, more} == set(one.participant.matched(writer))
    assert {one.topic for one in found} == {"quotes"}


def test_endpoints_that_announce_the_same_are_one_line() -> None:
    network = SimulatedNetwork(2)
    members = [network.join() for _ in range(4)]
    observer = network.join(observer=True)
    writers = [make(member, "writer") for member in members]
    readers = [make(member, "reader", of=WHOLE) for member in members]
    (found,) = looked_at(network, observer)
    assert (found.writers, found.readers) == (tuple(sorted(writers)), tuple(sorted(readers)))


def test_a_type_that_nobody_announces_keeps_nothing_apart() -> None:
    network = SimulatedNetwork(3)
    one, other, observer = network.join(), network.join(), network.join(observer=True)
    make(one, "writer", of=None)
    make(other, "reader", of=WHOLE)
    assert looked_at(network, observer) == []
    make(other, "reader", of=WHOLE, qos=replace(RELIABLE, type_consistency=TypeConsistency(forces_validation=True)))
    (found,) = looked_at(network, observer)
    assert found.reasons == (
        "type information that the reader insists on is missing at the writer, there at the reader",
    )


@pytest.mark.parametrize("seed", range(20))
def test_what_is_apart_is_what_the_participants_do_not_pair(seed: int) -> None:
    choose = random.Random(seed)
    network = SimulatedNetwork(seed)
    one, other, observer = network.join(), network.join(), network.join(observer=True)

    def some(member: SimulatedParticipant, kind: str) -> Guid:
        qos = replace(
            RELIABLE,
            durability=choose.choice([Durability.VOLATILE, Durability.TRANSIENT_LOCAL]),
            deadline=choose.choice([SECOND, INFINITE]),
            representations=choose.choice([(XCDR1,), (XCDR1, XCDR2)]),
            type_consistency=choose.choice(POLICIES),
        )
        of = choose.choice([QUOTE, WHOLE, GROWING, BOUNDED, None])
        return make(
            member, kind, of=of, qos=qos, keyed=choose.random() < 0.9, name=choose.choice(["Quote"] * 9 + ["Q"])
        )

    writers = [some(one, "writer") for _ in range(6)]
    readers = [some(other, "reader") for _ in range(6)]
    found = looked_at(network, observer)
    apart = {pair for each in found for pair in product(each.writers, each.readers)}
    pairs = {(writer, reader) for writer in writers for reader in one.participant.matched(writer)}
    assert apart == set(product(writers, readers)) - pairs
    assert pairs == {(writer, reader) for reader in readers for writer in other.participant.matched(reader)}
