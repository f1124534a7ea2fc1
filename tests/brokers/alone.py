"""One broker without a network: messages go in by hand, effects are looked at one by one."""

from __future__ import annotations

from random import Random
from typing import Any

from rookery.brokers.broker import Broker
from rookery.brokers.client_messages import Attach, FromClient
from rookery.machine import ClientId, Send, Write

from .invariants import configuration

CLIENT = ClientId(9)


def alone(**options: Any) -> Broker:
    """Return a broker with the number 1 that owns the whole space."""
    broker = Broker(1, configuration(**options), Random(1))
    broker.start(0)
    broker.effects()
    return broker


def attached(**options: Any) -> Broker:
    """Return such a broker with a client."""
    broker = alone(**options)
    ask(broker, Attach())
    return broker


def ask(broker: Broker, *requests: FromClient) -> list[Any]:
    """Let the client ask for something; return what is to be done."""
    broker.receive_many(requests, CLIENT, broker.now)
    return broker.effects()


def sent(effects: list[Any]) -> list[tuple[Any, Any]]:
    """Return what is sent to whom."""
    return [(effect.receiver, effect.message) for effect in effects if isinstance(effect, Send)]


def writes(effects: list[Any]) -> list[Write]:
    return [effect for effect in effects if isinstance(effect, Write)]
