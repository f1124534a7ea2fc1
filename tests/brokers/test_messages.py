"""Messages of brokers: the same after the wire, and those of another space rejected."""

from __future__ import annotations

import msgspec
import pytest

from rookery.brokers.events import BrokerMessageRejected
from rookery.brokers.messages import (
    FindOwner,
    JoinRequest,
    Message,
    PlacedSubscription,
    PlaceSubscriptions,
    ReplicateSubscriptions,
    Routed,
    Transfer,
    ZoneState,
)
from rookery.brokers.ownership import ZoneOwnership
from rookery.machine import Emit
from rookery.space.zones import Cut

from .invariants import SECOND, network, owned_zones


def test_messages_survive_the_wire() -> None:
    """Every message of a living network is the same after encoding and decoding."""
    made = network(8, seed=3)
    decoder = msgspec.msgpack.Decoder(Message)
    carried: list[Message] = []
    made.world.on_message = lambda sender, receiver, message: (
        carried.append(message) if isinstance(sender, int) and isinstance(receiver, int) else None
    )
    made.subscribe(2, "some", "x < 0.5")
    made.publish(3, {"x": 0.25, "y": 0.5})
    made.join()
    made.run(70 * SECOND)
    made.leave(4)
    assert made.run(60 * SECOND, until=lambda: len(owned_zones(made)) == len(made.brokers) == 8)
    assert {type(message).__name__ for message in carried} >= {
        "BrokerHeartbeat",
        "Routed",
        "Transfer",
        "TransferConfirmed",
        "OwnerFound",
    }
    for message in carried:
        assert decoder.decode(msgspec.msgpack.encode(message)) == message
    assert decoder.decode(msgspec.msgpack.encode(Routed((0.5,), FindOwner(3), 3))).body == FindOwner(3)


def test_a_message_of_another_space_is_rejected_and_harms_nobody() -> None:
    made = network(3)
    (broker, *_) = made.brokers.values()
    stranger = PlacedSubscription("s", 1, "x <", (), (0.0,), (1.0,), 99)
    ill = PlacedSubscription("ill", 1, "x <", (), (0.0, 0.0), (1.0, 1.0), 99)
    (owned,) = broker.owned.values()
    for message in (
        Routed((0.5,), FindOwner(99), 99),
        Routed((0.5, 0.5), PlaceSubscriptions((stranger,), 0), 99),
        Routed((0.5, 0.5), JoinRequest(99, (), ((0.1,),)), 99),
        ReplicateSubscriptions(owned.path, ((stranger, 5),)),
        Transfer(ZoneState(ZoneOwnership(owned.path, 9, broker.id), (), (), ((stranger, 5),), (), 0, ())),
        Transfer(
            ZoneState(
                ZoneOwnership(owned.path, 9, broker.id), (), (), (), (), 0, (((), (0.5,), ZoneOwnership((), 1, 9), 5),)
            )
        ),
    ):
        broker.receive(message, 99, made.calendar.now)
        assert [type(effect.event) for effect in broker.effects() if isinstance(effect, Emit)] == [
            BrokerMessageRejected
        ]
    broker.receive(Routed(owned.box.lower, PlaceSubscriptions((ill,), 0), 99), 99, made.calendar.now)
    made.publish(broker.id, {"x": owned.box.lower[0] + 1e-3, "y": owned.box.lower[1] + 1e-3})
    made.run(SECOND)
    assert broker.counters["rejected"] == 6
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(ZoneOwnership((Cut(0, 0, 0.5),) * 65, 1, 1)), type=ZoneOwnership)
