"""The participant as its owner uses it: what it announces, what it refuses, what it pairs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rookery.errors import HistoryFullError, TopicError, UnsupportedPolicyError
from rookery.machine import Machine, Send, Write
from rookery.participant import multicast_address
from rookery.rtps import Guid, Limits, QualityOfService, Reliability
from rookery.rtps.events import (
    ParticipantChanged,
    ParticipantDiscovered,
)
from rookery.rtps.parameters import Parameter
from rookery.rtps.qos import Presentation
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant

RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
SECOND = 1_000_000


def of(member: SimulatedParticipant, kind: type) -> list[object]:
    return [event for event in member.events if isinstance(event, kind)]


def test_news_in_the_announcement_reaches_the_others_once() -> None:
    network = SimulatedNetwork(1)
    one, other = network.join(), network.join()
    network.run(SECOND)
    assert len(of(other, ParticipantDiscovered)) == 1
    one.participant.announce(one.now, vendor_parameters=(Parameter(0x8F01, b"\xd1abc"),))
    one.flush()
    network.run(10 * SECOND)
    (changed,) = of(other, ParticipantChanged)
    assert isinstance(changed, ParticipantChanged)
    assert changed.announcement.vendor_parameters == (Parameter(0x8F01, b"\xd1abc"),)
    # A late one hears of it too.
    late = network.join()
    network.run(5 * SECOND)
    prefixes = {peer.prefix: peer.announcement.vendor_parameters for peer in late.participant.peers}
    assert prefixes[one.participant.prefix] == (Parameter(0x8F01, b"\xd1abc"),)


def test_it_is_a_machine_and_loss_is_the_business_of_those_who_miss_something() -> None:
    network = SimulatedNetwork(1)
    one, other = network.join(), network.join()
    network.run(SECOND)
    machine: Machine = one.participant
    due = machine.timer()
    assert due is not None
    machine.undeliverable(b"anything", other.address, one.now)
    machine.lose(other.address, one.now)
    machine.completed(Write(None, (), ()), "no disk", one.now)
    assert (machine.effects(), machine.timer()) == ([], due)
    assert [peer.prefix for peer in one.participant.peers] == [other.participant.prefix]
    machine.wake(due)
    (announced,) = machine.effects()
    assert isinstance(announced, Send)
    assert announced.receiver == multicast_address(0)
    assert machine.effects() == []


def test_what_is_not_there_says_so() -> None:
    participant = SimulatedNetwork(1).join().participant
    nothing = Guid(participant.prefix, 0x77_03)
    for call in (
        lambda: participant.write(nothing, b"", now=0),
        lambda: participant.is_acknowledged(nothing),
        lambda: participant.matched(nothing),
        lambda: participant.delete_endpoint(nothing, 0),
    ):
        with pytest.raises(TopicError, match="in this participant"):
            call()
    with pytest.raises(TopicError, match="need names"):
        participant.create_writer("", "T", RELIABLE, keyed=False, now=0)
    with pytest.raises(UnsupportedPolicyError, match="presentation"):
        participant.create_reader("t", "T", replace(RELIABLE, presentation=Presentation.TOPIC), keyed=False, now=0)
    assert participant.local_endpoints == ()


def test_a_reliable_reader_is_attentive_once_it_has_spoken() -> None:
    network = SimulatedNetwork(1)
    one, other, quick = network.join(), network.join(), network.join()
    writer = one.participant.create_writer("topic", "T", RELIABLE, keyed=False, now=0)
    best_effort = replace(RELIABLE, reliability=Reliability.BEST_EFFORT)
    slow = other.participant.create_reader("topic", "T", RELIABLE, keyed=False, now=0)
    never_speaks = quick.participant.create_reader("topic", "T", best_effort, keyed=False, now=0)
    for member in (one, other, quick):
        member.flush()
    both = {slow, never_speaks}
    assert network.run(SECOND, until=lambda: set(one.participant.matched(writer)) == both)
    assert one.participant.attentive(writer) == (never_speaks,)
    assert network.run(5 * SECOND, until=lambda: set(one.participant.attentive(writer)) == both)


def test_a_writer_whose_reader_does_not_answer_fills_up() -> None:
    network = SimulatedNetwork(1)
    one, other = network.join(limits=Limits(history_samples=5)), network.join()
    writer = one.participant.create_writer("topic", "T", RELIABLE, keyed=False, now=0)
    other.participant.create_reader("topic", "T", RELIABLE, keyed=False, now=0)
    for member in (one, other):
        member.flush()
    assert network.run(SECOND, until=lambda: bool(one.participant.matched(writer)))
    other.crash()
    for _ in range(5):
        one.participant.write(writer, b"\0\1\0\0", now=one.now)
    with pytest.raises(HistoryFullError, match="5 samples are waiting"):
        one.participant.write(writer, b"\0\1\0\0", now=one.now)
    # When the silent reader's lease ends, there is nobody to wait for.
    network.run(20 * SECOND)
    one.participant.write(writer, b"\0\1\0\0", now=one.now)
    assert one.participant.is_acknowledged(writer)
