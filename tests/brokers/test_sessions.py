"""Sessions of clients: deliveries in flight within a window, a backlog beyond it, acknowledgments to the owner."""

from __future__ import annotations

from rookery.brokers.batches import Acknowledge, DeliverBatch, Placed, Redeliver, batch_of
from rookery.brokers.broker import Broker
from rookery.brokers.client_messages import Attach, ClientAcknowledge, DeliverToClient, Subscribe, Subscribed
from rookery.brokers.row_cuts import part_of
from rookery.machine import ClientId

from .alone import CLIENT, ask, attached, sent
from .invariants import network

OWNER = 2
NAME = "9/1/s"


def subscribed(**options: object) -> Broker:
    broker = attached(**options)
    assert (CLIENT, Subscribed(NAME, 1)) in sent(ask(broker, Subscribe(NAME, 1, "x >= 0")))
    return broker


def delivery(number: int, *, names: tuple[str, ...] = (NAME,)) -> DeliverBatch:
    return DeliverBatch(number, batch_of(7, 10 * number, [{"x": 0.5}, {"x": 0.6}]), names)


def deliver(broker: Broker, message: DeliverBatch) -> list[tuple[object, object]]:
    broker.receive(message, OWNER, broker.now)
    return sent(broker.effects())


def test_a_delivery_is_acknowledged_to_its_owner_when_the_client_has_it() -> None:
    broker = subscribed()
    assert deliver(broker, delivery(4)) == [(CLIENT, DeliverToClient(OWNER, delivery(4)))]
    assert sent(ask(broker, ClientAcknowledge(((OWNER, 4), (OWNER, 99))))) == [(OWNER, Acknowledge((4,)))]
    assert not sent(ask(broker, ClientAcknowledge(((OWNER, 4),))))


def test_delivered_twice_it_goes_to_the_client_once_while_it_is_in_flight() -> None:
    broker = subscribed()
    deliver(broker, delivery(4))
    assert deliver(broker, delivery(4)) == []


def test_what_no_client_here_wants_is_acknowledged_at_once() -> None:
    assert deliver(subscribed(), delivery(4, names=("8/1/s",))) == [(OWNER, Acknowledge((4,)))]


def test_a_delivery_to_the_only_client_and_to_one_that_is_gone_is_the_clients() -> None:
    rows = DeliverBatch(4, delivery(4).batch, (), (0, 1), ("8/1/s", NAME))
    assert deliver(subscribed(), rows) == [(CLIENT, DeliverToClient(OWNER, rows))]


def test_each_of_two_clients_gets_its_rows() -> None:
    broker, other = subscribed(), ClientId(8)
    broker.receive_many([Attach(), Subscribe("8/1/s", 1, "x >= 0")], other, broker.now)
    broker.effects()
    batch = delivery(4).batch
    given = deliver(broker, DeliverBatch(4, batch, (), (0, 1, 0), ("8/1/s", NAME, "8/1/gone")))
    assert [client for client, _ in given] in ([CLIENT, other], [other, CLIENT])
    for client, message in given:
        assert isinstance(message, DeliverToClient)
        (row, name) = (0, "8/1/s") if client == other else (1, NAME)
        assert message.delivery == DeliverBatch(4, part_of(batch, [row]), (), (0,), (name,))


def test_of_two_clients_only_the_one_concerned_is_given_anything() -> None:
    broker = subscribed()
    broker.receive_many([Attach(), Subscribe("8/1/s", 1, "x >= 0")], ClientId(8), broker.now)
    broker.effects()
    rows = DeliverBatch(4, delivery(4).batch, (), (0, 1), (NAME, NAME))
    assert deliver(broker, rows) == [(CLIENT, DeliverToClient(OWNER, rows))]


def test_beyond_its_window_a_client_has_a_backlog_that_is_asked_for_when_there_is_room() -> None:
    broker = subscribed(window=1)
    deliver(broker, delivery(4))
    assert deliver(broker, delivery(5)) == []
    assert set(sent(ask(broker, ClientAcknowledge(((OWNER, 4),))))) == {
        (OWNER, Acknowledge((4,))),
        (OWNER, Redeliver((5,))),
    }
    assert deliver(broker, delivery(5)) == [(CLIENT, DeliverToClient(OWNER, delivery(5)))]


def test_what_is_on_its_way_to_all_clients_has_an_eighth_of_the_memory_budget() -> None:
    size = delivery(4).batch.size
    broker = subscribed(memory=16 * size)
    for number in (7, 8):
        broker.receive_many((Attach(), Subscribe(f"{number}/1/s", 1, "x >= 0")), ClientId(number), broker.now)
    broker.effects()
    given = [deliver(broker, delivery(number, names=(f"{number}/1/s",))) for number in (7, 8, 9)]
    assert [len(one) for one in given] == [1, 1, 0]


def test_what_was_in_flight_to_a_client_that_went_away_is_asked_for_when_it_is_back() -> None:
    broker = subscribed()
    deliver(broker, delivery(4))
    broker.lose(CLIENT, broker.now)
    assert not sent(broker.effects())
    assert (OWNER, Redeliver((4,))) in sent(ask(broker, Attach()))


def test_what_a_dead_owner_delivered_takes_no_room_in_the_window() -> None:
    broker = subscribed(window=1)
    deliver(broker, delivery(4))
    broker.lose(OWNER, broker.now)
    assert broker.sessions.attached == {CLIENT.number: 0}


def test_a_late_answer_to_an_earlier_version_places_nothing() -> None:
    made = network(2)
    broker, other = made.brokers[1], made.brokers[2]
    (path,) = other.owned
    ask(broker, Attach(), Subscribe(NAME, 1, "x >= 0"))
    assert not answers(ask(broker, Subscribe(NAME, 2, "x >= 0")))  # the other zone has said nothing
    broker.receive(Placed(path, ((NAME, 1),)), other.id, broker.now)
    assert not answers(broker.effects())
    broker.receive(Placed(path, ((NAME, 2),)), other.id, broker.now)
    assert answers(broker.effects()) == [Subscribed(NAME, 2)]


def answers(effects: list[object]) -> list[object]:
    return [message for client, message in sent(effects) if client == CLIENT and isinstance(message, Subscribed)]


def test_of_a_backlog_no_more_is_asked_for_than_the_window_has_room_for() -> None:
    broker = subscribed(window=4)
    for number in range(4, 12):  # two events each
        deliver(broker, delivery(number))
    asked = sent(ask(broker, ClientAcknowledge(((OWNER, 4), (OWNER, 5)))))
    assert [message.numbers for _, message in asked if isinstance(message, Redeliver)] == [(6, 7)]
