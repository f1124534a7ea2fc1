"""The client end of the broker network, alone: a test plays the broker, message by message."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest

from rookery.brokers import client as module
from rookery.brokers import seeking
from rookery.brokers.batches import Accepted, DeliverBatch, Refused, Superseded, batch_of
from rookery.brokers.client import PLACING, ClientMachine
from rookery.brokers.client_events import (
    Attached,
    BatchAccepted,
    BatchRefused,
    Delivered,
    GaveUp,
    InForce,
    SubscriptionFailed,
)
from rookery.brokers.client_messages import (
    Attach,
    ClientAcknowledge,
    DeliverToClient,
    KnownBrokers,
    PublishBatch,
    Subscribe,
    Subscribed,
    SubscribedMany,
    SubscribeMany,
    SubscriptionRejected,
    Unsubscribe,
    UnsubscribeMany,
    Welcome,
)
from rookery.brokers.versions import MOST_VERSION
from rookery.errors import HistoryFullError
from rookery.machine import Close, Emit, Send

SECOND = 1_000_000


def welcome(*brokers: int, topic: str = "t", version: int = 0) -> Welcome:
    return Welcome(topic, {}, (), brokers, version)


def a_client(**options: Any) -> ClientMachine:
    """A client 0xA that broker 1 has let in."""
    made = ClientMachine(0xA, [1, 2, 3], **options)
    made.start(0)
    assert made.effects() == [Send(1, Attach())]
    tell(made, welcome(1, 7))
    assert isinstance(events(made)[0], Attached)
    return made


def tell(client: ClientMachine, *messages: Any, sender: int = 1, now: int = 0) -> None:
    client.receive_many(messages, sender, now)


def events(client: ClientMachine) -> list[Any]:
    return [effect.event for effect in client.effects() if isinstance(effect, Emit)]


def sent(client: ClientMachine) -> list[Any]:
    return [effect.message for effect in client.effects() if isinstance(effect, Send)]


def delivery(
    number: int, sequences: Iterable[int], names: Iterable[str], *, every: Iterable[str] = ()
) -> DeliverToClient:
    """Events of publisher 5, one for each name, and all of them for some names."""
    first, *_ = numbers = list(sequences)
    batch = batch_of(5, first, [{"n": number} for number in numbers])
    some = list(names)
    return DeliverToClient(9, DeliverBatch(number, batch, tuple(every), tuple(range(len(some))), tuple(some)))


def test_a_subscription_is_in_force_when_every_condition_is_placed() -> None:
    client = a_client()
    number = client.subscribe({"low": ("x < 1", ()), "high": ("x > ?", (9,))})
    low, high = "a/1/low", "a/1/high"
    assert sent(client) == [SubscribeMany((Subscribe(low, 1, "x < 1", ()), Subscribe(high, 2, "x > ?", (9,))))]
    tell(client, Subscribed(low, 1))
    assert not client.is_in_force(number)
    tell(client, Subscribed(high, 1))  # an answer to something else
    assert events(client) == []
    tell(client, Subscribed(high, 2), Subscribed(high, 2))
    assert events(client) == [InForce(number)]
    assert client.is_in_force(number)
    client.unsubscribe(number)
    assert sent(client) == [UnsubscribeMany((low, high))]
    client.unsubscribe(number)
    assert client.effects() == []
    assert not client.is_in_force(number)


def asked(client: ClientMachine) -> list[Subscribe]:
    """Return what is subscribed to, bulk or not."""
    found: list[Subscribe] = []
    for request in sent(client):
        found += request.subscriptions if isinstance(request, SubscribeMany) else [request]
    return found


def test_of_many_subscriptions_a_part_is_on_its_way_and_each_is_asked_for_once() -> None:
    client, count = a_client(), 3 * PLACING + 7
    number = client.subscribe({str(one): ("x < 1", ()) for one in range(count)})
    names: list[str] = []
    while requests := asked(client):
        assert len(requests) <= PLACING
        names += [one.name for one in requests]
        assert not client.is_in_force(number)
        tell(client, SubscribedMany(tuple((one.name, one.version) for one in requests[1:])))
        tell(client, Subscribed(requests[0].name, requests[0].version))
    assert sorted(names) == sorted(f"a/1/{one}" for one in range(count))
    assert client.is_in_force(number)


def test_what_is_ended_before_it_was_said_is_never_said() -> None:
    client, count = a_client(), PLACING + 5
    first = client.subscribe({str(one): ("x < 1", ()) for one in range(count)})
    said = {one.name for one in asked(client)}
    other = client.subscribe({"": ("x < 2", ())})
    assert len(said) == PLACING
    assert asked(client) == [], "there is no room"
    client.unsubscribe(other)
    assert sent(client) == []
    client.unsubscribe(first)
    ended = [name for request in sent(client) for name in request.names]
    assert sorted(ended) == sorted(said)
    client.subscribe({"": ("x < 3", ())})
    assert [one.where for one in asked(client)] == ["x < 3"]


def test_what_the_present_broker_has_not_heard_of_is_said_before_it_is_taken_back() -> None:
    """Else an earlier broker would keep it in force for as long as it keeps a client that is away."""
    client, count = a_client(), PLACING + 5
    number = client.subscribe({str(one): ("x < 1", ()) for one in range(count)})
    while requests := asked(client):
        tell(client, SubscribedMany(tuple((one.name, one.version) for one in requests)))
    client.lose(client.broker, client.now)
    client.wake(client.now + 60_000_000)
    client.effects()
    tell(client, welcome(*client.brokers), sender=client.broker)
    assert len(asked(client)) == PLACING
    client.unsubscribe(number)
    requests = sent(client)
    placed = [one.name for request in requests if isinstance(request, SubscribeMany) for one in request.subscriptions]
    ended = [name for request in requests if isinstance(request, UnsubscribeMany) for name in request.names]
    assert len(placed) == 5
    assert sorted(ended) == sorted(f"a/1/{one}" for one in range(count))


def test_a_beaten_version_is_said_again_above_what_stands_in_its_way() -> None:
    client = a_client()
    number = client.subscribe({"": ("", ())})
    client.effects()
    tell(client, Superseded("a/1/", 1, 40))
    assert sent(client) == [Subscribe("a/1/", 41, "", ())]
    tell(client, Superseded("a/1/", 1, 40))  # once more, of the earlier one
    assert sent(client) == []
    tell(client, Superseded("a/1/", 41, MOST_VERSION))
    assert [type(event) for event in events(client)] == [SubscriptionFailed]
    tell(client, SubscriptionRejected("a/1/", "no such attribute"))
    assert events(client) == [SubscriptionFailed(number, "no such attribute")]
    client.unsubscribe(number)
    client.effects()
    tell(client, Superseded("a/1/", 41, 99), SubscriptionRejected("a/1/", "late"), Subscribed("a/1/", 41))
    assert client.effects() == []


def test_each_match_is_delivered_once_and_acknowledged_when_taken() -> None:
    client = a_client()
    one, two = client.subscribe({"": ("x < 1", ())}), client.subscribe({"": ("x < 2", ())})
    client.effects()
    tell(client, delivery(4, [10, 11], ["a/1/", "a/2/"]))
    first, second = sorted(events(client), key=lambda event: event.number)
    assert (first, second) == (
        Delivered(one, (9, 4), 5, [""], [10], [{"n": 10}]),
        Delivered(two, (9, 4), 5, [""], [11], [{"n": 11}]),
    )
    client.acknowledge(one, (9, 4))
    assert client.effects() == []
    tell(client, delivery(4, [10, 11], ["a/1/", "a/2/"]))  # delivered again, before all of it is acknowledged
    assert client.effects() == []
    assert client.repeated == 2
    client.acknowledge(two, (9, 4))
    client.acknowledge(two, (9, 4))
    assert sent(client) == [ClientAcknowledge(((9, 4),))]
    tell(client, delivery(6, [10, 11], ["a/1/", "a/1/"]))  # by another owner, under another number
    assert events(client) == [Delivered(one, (9, 6), 5, [""], [11], [{"n": 11}])]
    tell(client, delivery(7, [11, 12], [], every=["a/2/"]))
    assert events(client) == [Delivered(two, (9, 7), 5, [""], [12], [{"n": 12}])]
    tell(client, delivery(8, [11], ["a/2/"]))  # nothing new
    assert sent(client) == [ClientAcknowledge(((9, 8),))]


def test_what_nobody_wants_any_more_is_acknowledged() -> None:
    client = a_client()
    number = client.subscribe({"": ("", ())})
    client.effects()
    tell(client, delivery(1, [1], ["a/1/"]))
    assert len(events(client)) == 1
    client.unsubscribe(number)
    assert sent(client) == [Unsubscribe("a/1/"), ClientAcknowledge(((9, 1),))]
    tell(client, delivery(2, [2], ["a/1/"]))
    assert sent(client) == [ClientAcknowledge(((9, 2),))]


def test_who_is_back_gets_what_came_before_its_subscriptions_were_opened() -> None:
    """The broker sends the backlog as soon as the client is let in: nothing of it is acknowledged for nobody."""
    client = a_client(resumed=True)
    tell(client, delivery(1, [10], ["a/1/all"]), delivery(2, [11, 12], ["a/1/all", "a/2/all"]))
    assert client.effects() == []
    first = client.subscribe({"all": ("", ())})
    found = [event for event in events(client) if isinstance(event, Delivered)]
    assert [(event.key, list(event.sequences)) for event in found] == [((9, 1), [10]), ((9, 2), [11])]
    client.acknowledge(first, (9, 1))
    client.acknowledge(first, (9, 2))
    assert sent(client) == [ClientAcknowledge(((9, 1),))]  # the other is for one that may be opened yet
    tell(client, delivery(2, [11, 12], ["a/1/all", "a/2/all"]))  # after another connection, for example
    assert events(client) == []
    second = client.subscribe({"all": ("", ())})
    (event,) = (event for event in events(client) if isinstance(event, Delivered))
    assert (event.number, event.key, list(event.sequences)) == (second, (9, 2), [12])
    client.acknowledge(second, (9, 2))
    assert sent(client) == [ClientAcknowledge(((9, 2),))]


def test_who_is_back_does_not_wait_for_ever_for_a_subscription_that_nobody_opens() -> None:
    client = a_client(resumed=True)
    tell(client, delivery(1, [10], ["a/1/all"]))
    assert sent(client) == []
    assert client.timer() == module.RESUMING
    client.wake(module.RESUMING)
    assert sent(client) == [ClientAcknowledge(((9, 1),))]
    tell(client, delivery(2, [11], ["a/1/all"]), now=module.RESUMING)
    assert sent(client) == [ClientAcknowledge(((9, 2),))]
    assert client.timer() is None


def test_a_durable_subscription_is_closed_and_not_ended() -> None:
    """What the program has not taken comes when it is opened again, whatever else was opened before."""
    client = a_client()
    name = "a/~the%2Fbills/"
    client.subscribe({"": ("y > 1", ())})
    number = client.subscribe({"": ("x > 1", ())}, durable="the/bills")
    assert Subscribe(name, 2, "x > 1", (), durable=True) in sent(client)
    assert client.is_open("the/bills")
    tell(client, delivery(1, [10], [name]), delivery(2, [11], [name]))
    client.acknowledge(number, (9, 1))
    client.unsubscribe(number)
    assert not client.is_open("the/bills")
    assert sent(client) == [ClientAcknowledge(((9, 1),))]
    tell(client, delivery(3, [12], [name]))
    assert client.effects() == []
    number = client.subscribe({"": ("x > 1", ())}, durable="the/bills")
    found = [event for event in events(client) if isinstance(event, Delivered)]
    assert [(event.number, list(event.sequences)) for event in found] == [(number, [11]), (number, [12])]
    for key in ((9, 2), (9, 3)):
        client.acknowledge(number, key)
    assert sent(client) == [ClientAcknowledge(((9, 2), (9, 3)))]
    client.unsubscribe(number, for_good=True)
    assert sent(client) == [Unsubscribe(name)]


def test_a_durable_subscription_waits_for_as_long_as_it_takes() -> None:
    client = a_client(resumed=True)
    tell(client, delivery(1, [10], ["a/~bills/"]))
    client.wake(module.RESUMING)
    assert sent(client) == []
    tell(client, delivery(2, [11], ["a/~bills/"]), now=module.RESUMING)
    assert sent(client) == []
    client.subscribe({"": ("", ())}, durable="bills")
    assert [list(event.sequences) for event in events(client) if isinstance(event, Delivered)] == [[10], [11]]


def test_what_brokers_have_no_time_for_waits_in_the_client() -> None:
    """No more is sent than is accepted in a short time, whoever the broker is."""
    client = a_client(retry=2 * SECOND)

    def published() -> list[int]:
        return [request.batch.first for request in sent(client) if isinstance(request, PublishBatch)]

    for number in range(6000):
        client.publish({"x": number}, 0)
    assert published() == [0]
    assert client.in_flight == 6000
    tell(client, Accepted(client.identity, 0), now=SECOND // 10)
    assert published() == [1024, 2048]
    tell(client, Accepted(client.identity, 1024), now=4 * SECOND)
    assert published() == []
    assert not client.has_room
    client.lose(1, 5 * SECOND)
    client.wake(6 * SECOND)
    assert sent(client) == [Attach()]
    tell(client, welcome(7, 1), sender=7, now=6 * SECOND)
    assert published() == [2048]
    tell(client, Accepted(client.identity, 3072), sender=7, now=6 * SECOND)  # by the first one
    tell(client, Accepted(client.identity, 2048), sender=7, now=7 * SECOND)
    assert published() == [4096]
    tell(client, Accepted(client.identity, 5120), Accepted(client.identity, 4096), sender=7, now=7 * SECOND)
    assert published() == []
    assert not client.in_flight
    assert not client._sending.on_the_way


def test_the_dedup_window_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DEDUP_WINDOW", 8)
    client = a_client()
    client.subscribe({"": ("", ())})
    for number in range(50):
        tell(client, delivery(number, [number], ["a/1/"]))
    assert len(client._open[1].seen) <= 8
    tell(client, delivery(60, [49], ["a/1/"]))
    assert client.repeated == 1


def test_events_of_one_turn_travel_together_and_are_sent_again_until_accepted() -> None:
    client = a_client(retry=2 * SECOND, window=4)
    assert [client.publish({"n": n}, 10) for n in range(3)] == [0, 1, 2]
    request = PublishBatch(batch_of(0xA, 0, [{"n": 0}, {"n": 1}, {"n": 2}]))
    assert sent(client) == [request]
    assert client.publish({"n": 3}, 20) == 3
    assert not client.has_room
    with pytest.raises(HistoryFullError):
        client.publish({"n": 4}, 20)
    client.effects()
    assert client.timer() == 10 + 2 * SECOND
    client.wake(10 + 2 * SECOND)
    assert sent(client) == [request]  # the other one is not late yet
    assert client.timer() == 20 + 4 * SECOND
    tell(client, Accepted(0xA, 0, (2, 0)))
    assert events(client) == []
    tell(client, Accepted(0xA, 0, (1,)), Accepted(0xA, 0, ()))
    assert events(client) == [BatchAccepted(0, 3)]
    tell(client, Refused(0xA, 3, "full", final=False))
    assert events(client) == [BatchRefused(3, 1, "full", final=False)]
    assert client.in_flight == 1
    tell(client, Refused(0xA, 3, "no", final=True), Refused(0xA, 3, "no", final=True))
    assert events(client) == [BatchRefused(3, 1, "no", final=True)]
    assert (client.in_flight, client.timer()) == (0, None)


def test_brokers_that_accept_nothing_are_asked_less_and_less_often() -> None:
    client = a_client(retry=2 * SECOND)
    client.publish({"n": 0}, 0)
    client.effects()
    times = [0]
    for _ in range(5):
        due = client.timer()
        assert due is not None
        client.wake(due)
        assert len(sent(client)) == 1
        times.append(due)
    assert [(later - before) // SECOND for before, later in pairwise(times)] == [2, 4, 8, 8, 8]
    now = times[-1]
    tell(client, welcome(1))  # another broker, or the same anew: it is asked as often as any
    client.effects()
    assert client.timer() == now + 2 * SECOND
    tell(client, Accepted(0xA, 0, ()))  # of whichever time it was sent: says nothing of how long it takes
    for took, wait in ((3, 6), (100, 8), (1, 2)):  # in seconds
        number = client.publish({"n": 1}, now)
        client.effects()
        client.now = now = now + took * SECOND
        tell(client, Accepted(0xA, number, ()))
        number = client.publish({"n": 2}, now)
        client.effects()
        assert client.timer() == now + wait * SECOND
        tell(client, Refused(0xA, number, "no", final=True))


def test_a_batch_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_EVENTS", 2)
    client = a_client()
    assert [client.publish({"n": n}, 0) for n in range(5)] == [0, 1, 2, 3, 4]
    assert [message.batch.first for message in sent(client)] == [0, 2, 4]


def test_after_a_loss_everything_goes_to_the_next_broker() -> None:
    client = a_client()
    client.subscribe({"": ("x < 1", ())})
    client.publish({"n": 1}, 0)
    client.effects()
    client.lose(2, 5)  # not the one it is attached to
    assert client.is_attached
    client.lose(1, 5)
    assert not client.is_attached
    client.publish({"n": 2}, 6)
    assert client.effects() == []
    assert client.timer() == 5 + seeking.FIRST_PAUSE
    client.wake(client.timer() or 0)
    assert client.effects() == [Send(7, Attach())]  # the one that broker 1 named
    tell(client, Subscribed("a/1/", 1), welcome(1), sender=1)  # late, from the earlier one
    assert client.effects() == []
    tell(client, welcome(7, version=30), sender=7)
    said = [effect for effect in client.effects() if isinstance(effect, Send)]
    assert [effect.receiver for effect in said] == [7, 7, 7]
    assert said[0].message == Subscribe("a/1/", 31, "x < 1", ())
    assert [effect.message.batch.first for effect in said[1:]] == [0, 1]
    assert client.attachments == 2
    tell(client, KnownBrokers((8,)), sender=7)
    assert client.brokers[:2] == [7, 8]


def test_it_gives_up_after_its_patience_and_pauses_longer_each_time() -> None:
    client = ClientMachine(1, ["one", "two"], patience=3 * SECOND)
    client.start(0)
    now, asked = 0, []
    while True:
        effects = client.effects()
        if Emit(GaveUp()) in effects:
            break
        asked += [effect.receiver for effect in effects if isinstance(effect, Send)]
        client.undeliverable(Attach(), asked[-1], now)
        when = client.timer()
        if when is not None:
            assert when > now
            now = when
            client.wake(now)
    assert asked[:4] == ["one", "two", "one", "two"]
    assert 3 * SECOND < now < 5 * SECOND
    assert len(asked) < 20
    assert client.timer() is None


def test_who_does_not_answer_is_passed_over_and_has_longer_the_next_time() -> None:
    """A client whose list is old would else wait for each machine that is gone until its connection is given up."""
    client = ClientMachine(1, ["gone", "slow", "third"], patience=3 * SECOND)
    client.start(0)
    asked: list[tuple[Any, int]] = []
    now = 0
    while True:
        effects = client.effects()
        asked += [(effect.receiver, now) for effect in effects if isinstance(effect, Send)]
        assert [effect for effect in effects if isinstance(effect, Emit)] == [], "it gives up when somebody is lost"
        if asked[-1] != (client.broker, now):  # passed over: its link is closed, and what it says late is not heard
            assert [effect for effect in effects if isinstance(effect, Close)] == [Close(asked[-1][0], "no answer")]
            tell(client, welcome(1), sender=asked[-1][0], now=now)
            assert not client.is_attached
        if len(asked) == 7:
            break
        when = client.timer()
        assert when is not None, "it would wait for ever"
        now = when
        client.wake(now)
    assert [broker for broker, _ in asked] == ["gone", "slow", "third"] * 2 + ["gone"]
    waited = [after - before for (_, before), (_, after) in itertools.pairwise(asked)]
    assert all(seeking.FIRST_ANSWER < time < 2 * seeking.FIRST_ANSWER for time in waited[:3])
    assert all(2 * seeking.FIRST_ANSWER < time < 3 * seeking.FIRST_ANSWER for time in waited[3:])
    tell(client, welcome(5), sender="gone", now=now)
    assert client.is_attached
    assert client.timer() is None
    client.lose("gone", now)
    client.wake(client.timer() or 0)
    assert client.timer() == client.now + seeking.FIRST_ANSWER, "the count begins anew"


def test_the_only_broker_has_as_long_as_the_connection_lasts() -> None:
    client = ClientMachine(1, ["one"])
    client.start(0)
    assert client.timer() is None


def test_a_broker_of_another_topic_is_left() -> None:
    client = a_client()
    client.lose(1, 0)
    client.wake(client.timer() or 0)
    client.effects()
    tell(client, welcome(7, topic="other"), sender=7)
    assert client.effects() == [Close(7, "another topic")]
    assert not client.is_attached
    assert client.timer() is not None


def test_closing_ends_the_subscriptions_and_nothing_is_tried_again() -> None:
    client = a_client()
    client.subscribe({"": ("", ())})
    client.effects()
    client.close()
    assert sent(client) == [Unsubscribe("a/1/")]
    client.lose(1, 5)
    assert client.timer() is None
