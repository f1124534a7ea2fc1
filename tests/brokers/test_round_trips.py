"""Round trips by heartbeats and pings, by one's own clock, and the stretch of ways over brokers."""

from __future__ import annotations

from typing import Any

import pytest

from rookery.brokers.broker import Broker
from rookery.brokers.configuration import BrokerProximity
from rookery.brokers.distance_messages import AskRoundTrip, MeasurePeers, PeersMeasured, RoundTripAnswer
from rookery.brokers.messages import BrokerHeartbeat, JoinRequest, OwnerFound, ZoneReport
from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.round_trips import LAST, MOST_ASKED, TOLD_AFTER
from rookery.space.zones import ROOT, split

from .alone import alone, sent
from .invariants import SECOND

BEAT = 5 * SECOND


def measuring(**options: Any) -> Broker:
    return alone(proximity=BrokerProximity.MEASURED, **options)


def pings(broker: Broker) -> list[int]:
    return [receiver for receiver, message in sent(broker.effects()) if isinstance(message, AskRoundTrip)]


def test_the_least_of_the_last_few_holds() -> None:
    trips = measuring().round_trips
    assert trips.of(2) is None
    for time in (900, 300, 500):
        trips.note(2, time)
    assert trips.of(2) == 300
    for _ in range(LAST):
        trips.note(2, 700)
    assert trips.of(2) == 700, "the network has changed"
    trips.note(2, -1)
    trips.note(1, 5)
    assert (trips.of(2), trips.of(1)) == (700, None)
    trips.prune({3})
    assert trips.of(2) is None


def test_a_heartbeat_says_how_long_its_sender_has_had_the_stamp() -> None:
    """What a neighbor waited until its beat is not on the way: it says so, and it is taken off."""
    low, high = split(ROOT, 0, 0.5)
    broker = measuring()
    broker.now = SECOND
    broker.membership.joining.give(broker.owned[ROOT], _join(2))
    broker.effects()
    stamp = broker.leases._stamp = broker.now
    broker.receive(BrokerHeartbeat((), False, 5, stamp, held=400_000), 2, broker.now + 412_345)
    assert broker.round_trips.of(2) == 12_345
    theirs = BrokerHeartbeat((_report(broker, high),), True, 9)
    broker.receive(theirs, 2, broker.now + 1)
    broker.effects()
    broker.wake(broker.now + BEAT)
    (beat,) = [message for to, message in sent(broker.effects()) if to == 2 and isinstance(message, BrokerHeartbeat)]
    assert (beat.grant, beat.held) == (9, BEAT)
    assert low in broker.owned


def _join(newcomer: int) -> Any:
    return JoinRequest(newcomer, (), cut=(0, 0.5))


def _report(broker: Broker, path: Any) -> Any:
    return ZoneReport(ZoneOwnership(path, 2, 2), (), (), 1)


def test_a_ping_is_answered_at_once_and_one_answer_counts() -> None:
    broker = measuring()
    broker.receive(AskRoundTrip(77), 2, broker.now)
    assert sent(broker.effects()) == [(2, RoundTripAnswer(77, (broker.owned[ROOT].current_ownership(),)))]
    broker.round_trips.ping((2, 2, 1))
    stamp = broker.now
    assert sent(broker.effects()) == [(2, AskRoundTrip(stamp))]
    for wrong, sender in ((stamp + 1, 2), (stamp, 3)):
        broker.receive(RoundTripAnswer(wrong, ()), sender, stamp + 50)
    assert broker.round_trips.of(2) is None
    broker.receive(RoundTripAnswer(stamp, ()), 2, stamp + 100)
    broker.receive(RoundTripAnswer(stamp, ()), 2, stamp + 900)
    assert list(broker.round_trips._times[2]) == [100]


def test_who_does_not_answer_is_asked_again() -> None:
    broker = measuring()
    for beats, asked in ((0, True), (1, False), (3, True)):
        broker.now += beats * BEAT + 1
        broker.round_trips.beat()
        broker.effects()
        broker.round_trips.ping((2,))
        assert bool(sent(broker.effects())) is asked


def test_the_stretch_is_the_time_over_brokers_by_the_direct_one() -> None:
    """The question took 50 ms, of which the answer needed 10: the way took 40 where 10 would have done."""
    broker = measuring()
    broker.now = 1_000_000
    broker.receive(OwnerFound(ZoneOwnership(ROOT, 0, 2), 950_000), 9, broker.now)
    ((to, ping),) = [one for one in sent(broker.effects()) if isinstance(one[1], AskRoundTrip)]
    assert (to, broker.round_trips.stretch) == (2, None)
    broker.receive(RoundTripAnswer(ping.stamp, ()), 2, broker.now + 20_000)
    assert broker.round_trips.stretch == pytest.approx(4.0)
    broker.receive(OwnerFound(ZoneOwnership(ROOT, 0, 2), 0), 9, broker.now)
    assert not pings(broker), "a question without a stamp was not one of these"


def test_round_trips_are_measured_for_others_and_told() -> None:
    broker = measuring()
    broker.receive(MeasurePeers(3, (2, 4)), 9, broker.now)
    pings = dict(sent(broker.effects()))
    assert set(pings) == {2, 4}
    broker.receive(RoundTripAnswer(pings[2].stamp, ()), 2, broker.now + 1234)
    told = []
    for _ in range(TOLD_AFTER + 1):
        broker.round_trips.beat()
        told += [one for one in sent(broker.effects()) if isinstance(one[1], PeersMeasured)]
    assert told == [(9, PeersMeasured(3, ((2, 1234),)))]
    broker.receive(MeasurePeers(4, tuple(range(100, 101 + MOST_ASKED))), 9, broker.now)
    assert not sent(broker.effects()), "nobody makes a broker ask all the world"


def test_brokers_that_do_not_measure_say_and_ask_nothing() -> None:
    broker = alone()
    broker.receive(MeasurePeers(3, (2, 4)), 9, broker.now)
    broker.round_trips.note(2, 5)
    broker.receive(OwnerFound(ZoneOwnership(ROOT, 0, 2), 1), 9, broker.now + 5)
    assert not pings(broker)
    assert broker.round_trips.of(2) is None
