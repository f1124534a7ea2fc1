"""The machines of this package are machines: each has the methods of the protocol, with the same arguments."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from rookery.brokers.broker import Broker
from rookery.brokers.client import ClientMachine
from rookery.machine import Machine

METHODS = [name for name, member in vars(Machine).items() if inspect.isfunction(member) and not name.startswith("_")]


@pytest.mark.parametrize("machine", [Broker, ClientMachine])
@pytest.mark.parametrize("method", METHODS)
def test_a_machine_has_the_methods_of_the_protocol(machine: Any, method: str) -> None:
    wanted = [parameter.kind for parameter in inspect.signature(getattr(Machine, method)).parameters.values()]
    found = inspect.signature(getattr(machine, method)).parameters.values()
    assert [parameter.kind for parameter in found] == wanted
    assert [parameter.name for parameter in found][-1] == list(inspect.signature(getattr(Machine, method)).parameters)[
        -1
    ]


def test_the_protocol_is_not_empty() -> None:
    assert {"receive_many", "undeliverable", "lose", "completed", "wake", "timer", "effects"} == set(METHODS)
