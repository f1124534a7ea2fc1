"""A user's program, checked by `mypy --strict` and run: the client in a loop and in plain code, and the matcher.

What must not pass stands with an ignore; one that is not needed any more is an error.
"""

from __future__ import annotations

import asyncio
import sys

import rookery
from rookery import BrokerOptions, Client, DdsOptions, DdsReaderOptions, DdsWriterOptions, PlainClient, Subscription

QUOTES = rookery.Schema(symbol=str, price=float)


async def with_a_loop(address: str) -> list[float]:
    async with rookery.open(address, DdsOptions(name="typed")) as client:
        typed: Client = client
        typed.advertise("quotes", schema=QUOTES, dds=DdsWriterOptions(key=("symbol",)))
        keyed = DdsReaderOptions(key=("symbol",))
        async with client.subscribe("quotes", "price < 10", overflow="wait", schema=QUOTES, dds=keyed) as cheap:
            events: Subscription[dict[str, object]] = cheap
            client.publish("quotes", {"symbol": "ACME", "price": 12.0})
            count: int = await client.publish_many("quotes", [{"symbol": "ACME", "price": 9.5}])
            await client.flush("quotes")
            prices = [float(str((await anext(events))["price"])) for _ in range(count)]
            dropped: int = events.dropped
        return [*prices, float(dropped)]


def in_plain_code(address: str) -> list[str]:
    found = []
    with rookery.open(address) as client:
        plain: PlainClient = client
        wanted = plain.subscribe_many(
            "quotes",
            {"cheap": "price < 10", "acme": ("symbol = %0", ("'ACME'",))},
            overflow="drop-oldest",
            schema=QUOTES,
        )
        with wanted as named:
            plain.publish("quotes", {"symbol": "ACME", "price": 9.5})
            for name, event in named:
                found.append(f"{name} {event['price']}")
                if len(found) == 2:
                    break
    return sorted(found)


def by_the_matcher() -> list[str | int]:
    matcher = rookery.matcher(QUOTES)
    matcher.add("cheap acme", "symbol = 'ACME' AND price < 10")
    return matcher.match({"symbol": "ACME", "price": 9.5})


async def mistakes(client: Client) -> None:
    client.subscribe("quotes", "price < 10")  # type: ignore[call-arg]  # the caller says what overflows
    client.subscribe("quotes", overflow="drop")  # type: ignore[arg-type]
    client.subscribe("quotes", overflow="wait", transient_local=True)  # type: ignore[call-arg]
    client.publish("quotes", 9.5)  # type: ignore[arg-type]
    rookery.open("dds://0", {"name": "x"})  # type: ignore[arg-type]
    DdsOptions(domain=1)  # type: ignore[call-arg]
    BrokerOptions(credentials="text")  # type: ignore[arg-type]
    for event in client.subscribe("quotes", overflow="wait"):
        event.price  # type: ignore[attr-defined]  # noqa: B018


if __name__ == "__main__":
    domain = f"dds://{sys.argv[1]}"
    print(asyncio.run(with_a_loop(domain)), in_plain_code(domain), by_the_matcher())  # noqa: T201
