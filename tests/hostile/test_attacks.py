"""Each attack, with no key and with a client's certificate: it is refused, and honest work beside it is done."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery import BrokerOptions
from rookery.brokers.client_messages import TransferZone
from rookery.errors import BrokerError, JoinError, SubscriptionError
from rookery.live.rights import Allowance, Rights

from .attacks import ATTACKS
from .grounds import KINDS, grounds, honest_work

#: Why links are closed, by attack and by what the stranger has.
REFUSALS: dict[str, dict[str, set[str]]] = {
    "claim_the_root": {"open": {"another network"}, "certificate": {"not certified for this role", "another network"}},
    "order_a_release": {"open": {"not an operator"}, "certificate": {"not an operator", "not certified for this role"}},
    "publish_hollow_batches": {"open": {"malformed request"}, "certificate": {"malformed request"}},
    "open_by_halves": {kind: {"too many strangers"} for kind in KINDS},
    "begin_frames": {"open": {"unfinished frames"}, "certificate": {"unfinished frames"}},
    "send_nonsense": {
        "open": {"frame too large", "frame before hello", "malformed request"},
        "certificate": {"frame too large", "frame before hello", "malformed request"},
    },
}
#: What may happen to a stranger's links besides.
SIDE_EFFECTS = {"too many strangers", "no TLS", "no hello", "malformed", "too much before hello"}


def run(scenario: Any) -> None:
    asyncio.run(asyncio.wait_for(scenario, 1_800))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused_and_honest_work_goes_on(name: str, kind: str, tmp_path: Path) -> None:
    expected = REFUSALS[name].get(kind, {"no TLS"})

    async def scenario() -> None:
        async with grounds(kind, tmp_path) as place:
            before = place.zones()
            async with place.client(0) as publisher, place.client(1) as subscriber:
                attacking = asyncio.create_task(ATTACKS[name](place.stranger))
                assert await honest_work(publisher, subscriber) == list(range(60))
                await attacking
                while not expected & place.faults().keys():
                    await asyncio.sleep(0.02)
                assert await honest_work(publisher, subscriber) == list(range(60))
            async with place.client(0) as late:  # who comes now is let in too
                assert late.brokers.attachments == 1
            assert place.faults().keys() - expected <= SIDE_EFFECTS
            assert place.zones() == before
            matched = sum(broker.machine.counters["matched"] for broker in place.brokers)
            assert matched == 120
            most = place.brokers[0].peers.settings.limits.unfinished
            assert place.brokers[0].peers.settings.unfinished.total <= most

    run(scenario())


@pytest.mark.parametrize("kind", ["open", "certificate"])
def test_who_gets_events_cannot_speak_for_their_publisher(kind: str, tmp_path: Path) -> None:
    """A subscriber learns the publisher's number; to publish under it, or cut its session, takes its secret."""

    async def scenario() -> None:
        async with grounds(kind, tmp_path) as place, place.client(0) as publisher, place.client(1) as subscriber:
            learned = publisher.brokers.identity
            for secret in (b"", b"a guess"):
                await place.stranger.greet("client", identity=learned, secret=secret)
            await place.stranger.over()
            assert place.faults()["another's number"] == 2
            assert await honest_work(publisher, subscriber) == list(range(60))
            assert publisher.brokers.attachments == 1

    run(scenario())


def test_orders_are_an_operators(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with grounds("certificate", tmp_path) as place:
            host, port = place.brokers[0].address
            address = f"brokers://{host}:{port}"
            async with rookery.open(address, BrokerOptions(place.operator, role="operator")) as olga:
                before = place.zones()
                olga.brokers.order(TransferZone(600.0))
                while place.zones() == before:
                    await asyncio.sleep(0.05)
            with pytest.raises(JoinError, match="not certified for this role"):
                await rookery.open(address, BrokerOptions(place.honest, role="operator", attempts=0.0))

    run(scenario())


def test_rights_go_by_the_name_in_the_certificate(tmp_path: Path) -> None:
    rights = Rights((Allowance(("honest",), subscribe=("quotes",)), Allowance(("oper*",), publish=("quo*", "news"))))

    async def scenario() -> None:
        async with grounds("certificate", tmp_path, rights=rights) as place, place.client(0) as reader:
            host, port = place.brokers[1].address
            async with rookery.open(
                f"brokers://{host}:{port}", BrokerOptions(place.operator, attempts=600.0)
            ) as writer:
                assert await honest_work(writer, reader, events=5) == list(range(5))
                with pytest.raises(SubscriptionError, match="may not subscribe"):
                    await writer.subscribe("quotes", overflow="wait").__aenter__()
                many = {str(price): f"price > {price}" for price in range(3)}
                with pytest.raises(SubscriptionError, match="may not subscribe"):
                    await writer.subscribe_many("quotes", many, overflow="wait").__aenter__()
                assert not any(broker.machine.placement.clients for broker in place.brokers[1:])
            reader.publish("quotes", {"symbol": "a", "price": 1.0, "number": 1})
            with pytest.raises(BrokerError, match="may not publish"):
                await reader.flush("quotes", seconds=600)

    run(scenario())


def test_a_frame_that_is_the_longest_still_comes_through_beside_many_that_never_end(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with grounds("open", tmp_path) as place, place.client(0) as publisher, place.client(1) as subscriber:
            await ATTACKS["begin_frames"](place.stranger)
            async with subscriber.subscribe("quotes", "price >= 0", overflow="wait") as feed:
                publisher.publish("quotes", {"symbol": "x" * (8 << 20), "price": 1.0, "number": 7})
                await publisher.flush("quotes", seconds=600)
                assert (await anext(aiter(feed)))["number"] == 7

    run(scenario())
