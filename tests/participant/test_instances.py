"""The states of instances, as their samples, ends and writers make them."""

from __future__ import annotations

from rookery.participant.instances import InstanceChanged, Instances, InstanceState
from rookery.rtps.events import SampleKind
from rookery.rtps.identity import Guid

ONE, TWO = Guid(b"0123456789ab", 0x102), Guid(b"0123456789ab", 0x202)
A, B = {"symbol": "A", "price": 1.0}, {"symbol": "B", "price": 1.0}


def changed(symbol: str, state: InstanceState) -> InstanceChanged:
    return InstanceChanged("quotes", {"symbol": symbol}, state)


def test_a_sample_makes_alive_a_disposal_ends_and_a_later_sample_revives() -> None:
    instances = Instances("quotes", ("symbol",))
    assert instances.take(ONE, SampleKind.ALIVE, A) == changed("A", InstanceState.ALIVE)
    assert instances.take(TWO, SampleKind.ALIVE, A) is None
    assert instances.take(TWO, SampleKind.DISPOSED, {"symbol": "A"}) == changed("A", InstanceState.DISPOSED)
    assert instances.take(ONE, SampleKind.UNREGISTERED, {"symbol": "A"}) is None  # disposed it stays
    assert instances.take(ONE, SampleKind.ALIVE, A) == changed("A", InstanceState.ALIVE)
    assert list(instances) == [({"symbol": "A"}, InstanceState.ALIVE)]


def test_without_writers_an_instance_has_none() -> None:
    instances = Instances("quotes", ("symbol",))
    for writer, event in ((ONE, A), (TWO, A), (TWO, B)):
        instances.take(writer, SampleKind.ALIVE, event)
    assert instances.take(ONE, SampleKind.UNREGISTERED, {"symbol": "A"}) is None
    gone = [changed("B", InstanceState.NO_WRITERS), changed("A", InstanceState.NO_WRITERS)]
    assert instances.lose(TWO) == gone
    assert instances.lose(TWO) == []
    both = SampleKind.DISPOSED_AND_UNREGISTERED
    assert instances.take(ONE, both, {"symbol": "A"}) == changed("A", InstanceState.DISPOSED)


def test_an_end_of_an_instance_that_was_never_heard_of_is_news() -> None:
    instances = Instances("quotes", ("symbol",))
    assert instances.take(ONE, SampleKind.DISPOSED, {"symbol": "A"}) == changed("A", InstanceState.DISPOSED)
    assert instances.take(ONE, SampleKind.UNREGISTERED, {"symbol": "B"}) == changed("B", InstanceState.NO_WRITERS)
