"""Samples that many want, sent once to the domain's group; with virtual time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from rookery.participant.configuration import data_group
from rookery.rtps.announcements import ContentFilter
from rookery.rtps.cdr import encode_sample
from rookery.rtps.events import SampleReceived
from rookery.rtps.locators import Address, Locator
from rookery.rtps.messages import decode_message
from rookery.rtps.qos import Durability, QualityOfService, Reliability
from rookery.rtps.submessages import AckNack, Data, Heartbeat
from rookery.rtps.types import CdrMember, CdrStruct, Primitive
from rookery.simulated.domain import SimulatedNetwork, conditions_between

SECOND = 1_000_000
RELIABLE = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
TYPE = CdrStruct("T", (CdrMember("n", Primitive.INT64),))
GROUP = data_group(0)


class Scene:
    """A writer and its readers, each a participant; and what was sent where."""

    def __init__(self, hearing, deaf=0, *, qos=RELIABLE, network=None, wanted=None):
        self.network = network or SimulatedNetwork(1)
        self.qos = qos
        self.one = self.network.join(multicast_data=True)
        self.writer = self.one.participant.create_writer("t", "T", qos, keyed=False, now=self.one.now, type=TYPE)
        self.one.flush()
        self.readers = {}
        for number in range(hearing + deaf):
            self.join(multicast_data=number < hearing, wanted=wanted)
        self.network.run(20 * SECOND, until=lambda: len(self.one.participant.attentive(self.writer)) == hearing + deaf)
        self.sent = Counter()
        self.datagrams = Counter()
        self.network.on_datagram = self._count

    def join(self, *, wanted=None, **options):
        member = self.network.join(**options)
        reader = member.participant.create_reader(
            "t", "T", self.qos, keyed=False, now=member.now, type=TYPE, content_filter=wanted
        )
        member.flush()
        self.readers[member] = reader
        return member

    def _count(self, sender, datagram, to):
        self.datagrams[to] += 1
        for submessage in decode_message(datagram).submessages:
            if isinstance(submessage, Data | Heartbeat | AckNack) and submessage.writer == self.writer.entity:
                self.sent[type(submessage), to] += 1

    def write(self, *numbers):
        for number in numbers:
            payload = encode_sample(TYPE, {"n": number})
            self.one.participant.write(self.writer, payload, now=self.one.now)
        self.one.flush()

    def got(self, member):
        found = [event for event in member.events if isinstance(event, SampleReceived)]
        assert all(event.reader == self.readers[member] for event in found)
        return [event.payload for event in found]


def payloads(numbers):
    return [encode_sample(TYPE, {"n": number}) for number in numbers]


def test_what_several_hear_is_sent_once_with_one_heartbeat() -> None:
    scene = Scene(8)
    for start in range(0, 1_000, 50):
        scene.write(*range(start, start + 50))
        scene.network.run(10_000)
    assert (scene.sent[Data, GROUP], scene.sent[Heartbeat, GROUP]) == (1_000, 20)
    # Beside them only what asks a reader whether it has all, once in a tenth of a second, and the answers.
    assert max(count for (_, to), count in scene.sent.items() if to != GROUP) <= 16
    scene.network.run(5 * SECOND)
    assert all(scene.got(member) == payloads(range(1_000)) for member in scene.readers)
    assert scene.one.participant.is_acknowledged(scene.writer)
    assert sum(count for (kind, _), count in scene.sent.items() if kind is Data) == 1_000


def test_few_are_sent_to_one_by_one_and_so_are_those_who_do_not_hear() -> None:
    scene = Scene(2)
    scene.write(1)
    assert not any(to == GROUP for _, to in scene.sent)
    scene = Scene(3, deaf=2)
    scene.write(*range(10))
    scene.network.run(SECOND)
    assert scene.sent[Data, GROUP] == 10
    deaf = list(scene.readers)[3:]
    assert {to: count for (kind, to), count in scene.sent.items() if kind is Data and to != GROUP} == {
        member.address: 10 for member in deaf
    }
    assert all(scene.got(member) == payloads(range(10)) for member in scene.readers)
    # One who goes leaves two: from then on each has its own.
    next(iter(scene.readers)).leave()
    scene.network.run(SECOND)
    scene.sent.clear()
    scene.write(11)
    assert scene.sent[Data, GROUP] == 0


def test_what_is_lost_on_the_way_is_sent_again_to_who_lacks_it() -> None:
    for seed in range(10):
        network = SimulatedNetwork(seed, conditions_between(100, 5_000, loss=0.2, duplication=0.2))
        scene = Scene(5, deaf=1, network=network)
        for start in range(0, 200, 10):
            scene.write(*range(start, start + 10))
            network.run(20_000)
        one, writer = scene.one.participant, scene.writer
        network.run(60 * SECOND, until=lambda: one.is_acknowledged(writer))  # noqa: B023 - used before it goes on
        assert scene.sent[Data, GROUP] == 200
        assert all(scene.got(member) == payloads(range(200)) for member in scene.readers)


def test_who_comes_later_gets_what_it_is_entitled_to() -> None:
    lasting = replace(RELIABLE, durability=Durability.TRANSIENT_LOCAL)
    for qos, first in ((RELIABLE, 5), (lasting, 0)):
        scene = Scene(3, qos=qos)
        scene.write(*range(5))
        scene.network.run(SECOND)
        late = scene.join(multicast_data=True)
        scene.network.run(3 * SECOND)
        scene.write(*range(5, 10))
        scene.network.run(3 * SECOND)
        assert scene.got(late) == payloads(range(first, 10))
        assert scene.sent[Data, GROUP] == 10


def test_the_group_is_told_nothing_that_is_not_so_of_all_in_it() -> None:
    scene = Scene(4)
    slow = next(iter(scene.readers))
    scene.network.cut(scene.one, slow)
    scene.write(*range(5))
    late = scene.join(multicast_data=True)
    scene.network.run(3 * SECOND)
    before = scene.sent[Heartbeat, GROUP]
    scene.write(5)
    # What is kept for the slow one is nothing that the late one may ask for.
    assert (scene.sent[Data, GROUP], scene.sent[Heartbeat, GROUP]) == (6, before)
    scene.network.mend(scene.one, slow)
    scene.network.run(20 * SECOND)
    assert scene.got(slow) == payloads(range(6))
    assert scene.got(late) == payloads([5])


def test_what_some_do_not_want_goes_to_those_alone_who_do() -> None:
    scene = Scene(3, wanted=ContentFilter("t", "n < 3"))
    more = scene.join(multicast_data=True, wanted=ContentFilter("t", "n < 5"))
    scene.network.run(3 * SECOND)
    scene.write(*range(10))
    assert scene.sent[Data, GROUP] == 3  # everybody wants them
    assert scene.sent[Data, more.address] == 2
    scene.network.run(3 * SECOND)
    assert scene.sent[Data, GROUP] == 3
    for member in scene.readers:
        assert scene.got(member) == payloads(range(5 if member is more else 3))


def test_a_group_that_is_not_ours_is_not_sent_to() -> None:
    for group in (Address("239.1.2.3", 7_401), Address("127.0.0.9", 7_401), Address(GROUP.host, GROUP.port + 1)):
        scene = Scene(0)
        for _ in range(4):
            member = scene.network.join()
            # As a stranger would announce it.
            spdp = member.participant._spdp
            spdp.announcement = replace(spdp.announcement, groups=(Locator.of(group),))
            spdp.set(vendor_parameters=())
            spdp.announce(member.now)
            scene.readers[member] = member.participant.create_reader(
                "t", "T", RELIABLE, keyed=False, now=member.now, type=TYPE
            )
            member.flush()
        scene.network.run(5 * SECOND)
        scene.datagrams.clear()
        scene.write(1)
        scene.network.run(SECOND)
        assert all(scene.got(member) == payloads([1]) for member in scene.readers)
        assert group not in scene.datagrams
        assert GROUP not in scene.datagrams


@pytest.mark.parametrize("domain_id", [0, 7])
def test_the_group_is_that_of_the_standard(domain_id) -> None:
    assert data_group(domain_id) == Address("239.255.0.1", 7_401 + 250 * domain_id)
