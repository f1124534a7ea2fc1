"""Signs of life: of each kind, said in time, missed, and given again; in a domain with virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rookery.errors import TopicError, UnsupportedPolicyError
from rookery.rtps.events import EndpointMatched, LivelinessChanged, LivelinessLost, QualityIncompatible
from rookery.rtps.qos import Liveliness, QualityOfService, Reliability, require_supported
from rookery.simulated.domain import SimulatedNetwork, conditions_between

SECOND = 1_000_000
PLAIN = QualityOfService(reliability=Reliability.RELIABLE, history_depth=None)
AUTOMATIC = replace(PLAIN, liveliness_lease=SECOND)
BY_PARTICIPANT = replace(AUTOMATIC, liveliness=Liveliness.MANUAL_BY_PARTICIPANT)
BY_TOPIC = replace(AUTOMATIC, liveliness=Liveliness.MANUAL_BY_TOPIC)


class Pair:
    """A writer and a reader of one topic, in two participants or in one."""

    def __init__(self, offered, requested=AUTOMATIC, *, apart=True, network=None, **options):
        self.network = network or SimulatedNetwork(1)
        # A lease of the participants that never ends by itself: what ends here is the liveliness of writers.
        options = {"lease": 100 * SECOND, "period": 30 * SECOND, **options}
        self.one = self.network.join(**options)
        self.two = self.network.join(**options) if apart else self.one
        self.writer = self.one.participant.create_writer("t", "T", offered, keyed=False, now=self.one.now)
        self.reader = self.two.participant.create_reader("t", "T", requested, keyed=False, now=self.two.now)
        self.one.flush()
        self.two.flush()
        self.network.run(SECOND // 2)

    def write(self, writer=None):
        self.one.participant.write(writer or self.writer, b"\0\1\0\0abcd", now=self.one.now)
        self.one.flush()

    def assert_liveliness(self, writer=None):
        self.one.participant.assert_liveliness(self.one.now, writer=writer)
        self.one.flush()

    @property
    def changes(self):
        """What the reader was told of the writer."""
        found = [event for event in self.two.events if isinstance(event, LivelinessChanged)]
        assert all((event.reader, event.writer) == (self.reader, self.writer) for event in found)
        return [event.alive for event in found]

    @property
    def lost(self):
        return sum(event == LivelinessLost(self.writer) for event in self.one.events)


@pytest.mark.parametrize("discovery", ["simple", "ribbon"])
def test_an_automatic_writer_is_alive_as_long_as_its_participant_speaks(discovery) -> None:
    pair = Pair(AUTOMATIC, discovery=discovery)
    pair.network.run(60 * SECOND)
    assert pair.changes == []  # announcements come once in thirty seconds, signs of life often enough
    pair.network.cut(pair.one, pair.two)
    pair.network.run(5 * SECOND)
    assert pair.changes == [False]
    pair.network.mend(pair.one, pair.two)
    pair.network.run(5 * SECOND)
    assert pair.changes == [False, True]
    assert pair.lost == 0


def mute(member):
    """Let a participant say nothing in participant messages, as if none came through."""
    member.participant._pairing.liveliness._say = lambda kind, now: None


@pytest.mark.parametrize("discovery", ["simple", "ribbon"])
def test_any_word_of_a_participant_is_a_sign_of_life_of_its_automatic_writers(discovery) -> None:
    pair = Pair(AUTOMATIC, discovery=discovery, period=SECOND // 3)
    mute(pair.one)
    pair.network.run(20 * SECOND)
    assert pair.changes == []  # it announces itself
    pair.network.cut(pair.one, pair.two)
    pair.network.run(5 * SECOND)
    pair.network.mend(pair.one, pair.two)
    pair.network.run(5 * SECOND)
    assert pair.changes == [False, True]


def test_a_sample_is_a_sign_of_life_of_all_that_are_manual_by_participant() -> None:
    pair = Pair(BY_PARTICIPANT)
    other = pair.one.participant.create_writer("other", "T", BY_PARTICIPANT, keyed=False, now=pair.one.now)
    pair.two.participant.create_reader("other", "T", AUTOMATIC, keyed=False, now=pair.two.now)
    pair.one.flush()
    pair.two.flush()
    pair.network.run(SECOND // 4)
    mute(pair.one)
    for _ in range(20):
        pair.write(other)
        pair.network.run(SECOND // 2)
    assert pair.changes == []


def test_signs_of_life_that_are_lost_do_not_count_as_death() -> None:
    for seed in range(20):
        network = SimulatedNetwork(seed, conditions_between(100, 20_000, loss=0.2, duplication=0.2))
        pair = Pair(AUTOMATIC, network=network)
        pair.network.run(20 * SECOND)
        assert any(isinstance(event, EndpointMatched) for event in pair.two.events)
        assert pair.changes == []


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("offered", [BY_PARTICIPANT, BY_TOPIC])
def test_a_program_that_says_nothing_is_dead_and_hears_of_it(offered, apart) -> None:
    pair = Pair(offered, apart=apart)
    for _ in range(8):
        pair.write()
        pair.network.run(SECOND // 2)
    assert pair.changes == []
    pair.network.run(3 * SECOND)
    assert pair.changes == [False]
    assert pair.lost == 1
    pair.assert_liveliness(pair.writer)
    pair.network.run(SECOND // 2)
    assert pair.changes == [False, True]
    pair.network.run(3 * SECOND)
    assert pair.changes == [False, True, False]
    assert pair.lost == 2


def test_an_assertion_alone_keeps_a_writer_alive_whatever_its_kind() -> None:
    for offered in (BY_PARTICIPANT, BY_TOPIC):
        pair = Pair(offered)
        for _ in range(20):
            pair.assert_liveliness(pair.writer)
            pair.network.run(SECOND * 9 // 10)
        assert (pair.changes, pair.lost) == ([], 0)


def test_one_writer_speaks_for_all_of_its_participant_but_not_for_a_topic() -> None:
    for offered, expected in ((BY_PARTICIPANT, []), (BY_TOPIC, [False])):
        pair = Pair(offered)
        # Nobody reads this one: what it writes is said in a participant message alone.
        other = pair.one.participant.create_writer("other", "T", offered, keyed=False, now=pair.one.now)
        for _ in range(10):
            pair.write(other)
            pair.network.run(SECOND // 2)
        assert pair.changes == expected
    pair = Pair(BY_PARTICIPANT)
    for _ in range(10):
        pair.assert_liveliness()
        pair.network.run(SECOND // 2)
    assert pair.changes == []
    pair = Pair(BY_TOPIC)
    for _ in range(10):
        pair.assert_liveliness()  # of the participant: not of a topic
        pair.network.run(SECOND // 2)
    assert pair.changes == [False]


def test_an_automatic_writer_does_not_speak_for_the_program() -> None:
    pair = Pair(BY_PARTICIPANT)
    pair.one.participant.create_writer("other", "T", AUTOMATIC, keyed=False, now=pair.one.now)
    pair.network.run(5 * SECOND)
    assert pair.changes == [False]


def test_who_asserts_often_is_passed_on_four_times_in_a_lease() -> None:
    pair = Pair(BY_PARTICIPANT)
    other = pair.one.participant.create_writer("other", "T", BY_PARTICIPANT, keyed=False, now=pair.one.now)
    pair.one.flush()
    pair.network.run(SECOND // 4)
    before = pair.network.datagrams
    for _ in range(10_000):
        pair.write(other)
        pair.network.run(1_000)
    assert pair.changes == []
    # In ten seconds forty messages, each with a HEARTBEAT and an ACKNACK behind it.
    assert 100 < pair.network.datagrams - before <= 125


def test_nobody_is_told_who_waits_for_nothing() -> None:
    network = SimulatedNetwork(1)
    pair = Pair(AUTOMATIC, network=network, discovery="ribbon")
    stranger = network.join(discovery="ribbon", lease=100 * SECOND, period=30 * SECOND)
    network.run(SECOND)
    heard = []
    network.on_datagram = lambda sender, datagram, to: heard.append(to) if to == stranger.address else None
    network.run(20 * SECOND)
    assert heard == []
    assert pair.changes == []


def test_a_writer_that_ends_is_waited_for_no_more() -> None:
    for end in ("writer", "reader", "participant"):
        pair = Pair(BY_TOPIC)
        if end == "reader":
            pair.two.participant.delete_endpoint(pair.reader, pair.two.now)
        elif end == "writer":
            pair.one.participant.delete_endpoint(pair.writer, pair.one.now)
            pair.one.flush()
        else:
            pair.one.leave()
        pair.network.run(5 * SECOND)
        assert pair.changes == []


def test_what_is_asked_for_has_to_be_offered() -> None:
    pair = Pair(AUTOMATIC, BY_TOPIC)
    assert any(isinstance(event, QualityIncompatible) for event in pair.two.events)
    pair = Pair(BY_TOPIC, replace(AUTOMATIC, liveliness_lease=SECOND // 2))
    assert any(event.policies == ("liveliness",) for event in pair.two.events if isinstance(event, QualityIncompatible))


def test_a_sign_of_life_in_anothers_name_is_refused() -> None:
    pair = Pair(BY_PARTICIPANT)
    liar = pair.network.join(lease=100 * SECOND)
    guid = liar.participant.create_writer("x", "T", BY_PARTICIPANT, keyed=False, now=liar.now)
    pair.two.participant.create_reader("x", "T", AUTOMATIC, keyed=False, now=pair.two.now)
    liar.flush()
    pair.two.flush()
    pair.network.run(SECOND // 4)
    pair.network.on_datagram = None
    protocol = liar.participant._pairing.liveliness
    protocol._context.prefix = pair.one.participant.prefix
    rejected = pair.two.participant.counters["rejected"]
    for _ in range(8):
        liar.participant.write(guid, b"\0\1\0\0abcd", now=liar.now)
        liar.flush()
        pair.network.run(SECOND // 2)
    assert pair.two.participant.counters["rejected"] > rejected
    assert next(event for event in pair.two.events if isinstance(event, LivelinessChanged)).writer == pair.writer


def test_what_cannot_be_promised_or_asserted_raises() -> None:
    with pytest.raises(UnsupportedPolicyError, match="liveliness lease"):
        require_supported(replace(PLAIN, liveliness_lease=10))
    pair = Pair(BY_TOPIC)
    with pytest.raises(TopicError):
        pair.one.participant.assert_liveliness(pair.one.now, writer=pair.reader)
