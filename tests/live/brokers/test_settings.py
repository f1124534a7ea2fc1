"""Settings of a live broker: what is refused, what the machine gets, and who belongs to one network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.live.broker_fleet import SCHEMA, SPACE

from rookery.brokers.configuration import BrokerDurability, BrokerProximity
from rookery.errors import SettingsError
from rookery.live.brokers.settings import BrokerSettings, parse_address
from rookery.space.notation import read_space

SETTINGS = BrokerSettings("quotes", read_space(SPACE, SCHEMA), ("127.0.0.1", 7401), data=Path("data"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"engine": "steam"}, "there is no engine 'steam'"),
        ({"data": None}, "a log needs a folder"),
        ({"beat": 0.0}, "the beat must be positive"),
        ({"balance": -1.0}, "a time in seconds"),
        ({"balance": float("nan")}, "a time in seconds"),
        ({"span": 3}, "a power of two"),
        ({"span": 1}, "a power of two"),
        ({"beat": 2.0, "refresh": 1.0}, "not be sent again more often"),
    ],
)
def test_what_cannot_work_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        replace(SETTINGS, **change)


def test_a_broker_that_writes_nothing_needs_no_folder() -> None:
    assert replace(SETTINGS, data=None, durability=BrokerDurability.MEMORY).data is None


def test_the_machine_gets_microseconds() -> None:
    configuration = replace(SETTINGS, beat=0.25, refresh=4.0, detached=9.0, backlog=7, window=8).configuration()
    assert (configuration.beat, configuration.refresh, configuration.detached) == (250_000, 4_000_000, 9_000_000)
    configuration = replace(SETTINGS, balance=2.5, span=16, proximity=BrokerProximity.MEASURED).configuration()
    assert (configuration.balance, configuration.bits, configuration.proximity.value) == (2_500_000, 4, "measured")
    configuration = replace(SETTINGS, backlog=7, window=8).configuration()
    assert (configuration.bits, configuration.level_bits) == (None, 2)
    assert (configuration.backlog, configuration.window, configuration.topic) == (7, 8, "quotes")


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"listen": ("127.0.0.1", 7402), "engine": "scan", "backlog": 1}, True),
        ({"topic": "trades"}, False),
        ({"beat": 2.0}, False),
        ({"refresh": 61.0}, False),
        ({"span": 8}, False),
        ({"proximity": BrokerProximity.NONE, "balance": 1.0}, True),
        ({"space": read_space("price:0:999,symbol", SCHEMA)}, False),
    ],
)
def test_topic_space_and_times_make_a_network(change: dict[str, Any], same: bool) -> None:
    assert (replace(SETTINGS, **change).network() == SETTINGS.network()) == same


def test_an_address_is_host_and_port() -> None:
    assert parse_address("10.0.0.7:65535") == ("10.0.0.7", 65535)
    assert parse_address("localhost:1") == ("127.0.0.1", 1)
    for wrong in ("7401", ":7401", "host:", "host:65536", "host:٣", "host:-1"):
        with pytest.raises(SettingsError, match="is no address"):
            parse_address(wrong)
