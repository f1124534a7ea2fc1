"""Islands for real: unmodified Cyclone DDS participants in network namespaces, a gateway at each, TCP between them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from .sites import Gateway, Sites, Worker, why_not

pytest.importorskip("cyclonedds")
pytestmark = pytest.mark.wire
COUNT = 100


@contextmanager
def sites(names: str) -> Iterator[Sites]:
    if reason := why_not():
        pytest.skip(reason)
    with Sites(names) as made:
        yield made


def messages(first: int, count: int = COUNT) -> list[dict[str, Any]]:
    return [{"number": number, "text": "x" * (number % 50)} for number in range(first, first + count)]


def numbers(taken: list[Any]) -> list[int]:
    return sorted(sample["number"] for sample, state in taken if state == "alive")


def reaching(count: int) -> Any:
    return lambda lines: lines[-1].startswith("reached: ") and lines[-1].count("site-") == count


def test_a_ring_of_three_sites_with_cyclone_at_each() -> None:
    with sites("abc") as world:
        gateways = {
            "a": Gateway(world, "a"),
            "b": Gateway(world, "b", join="a"),
            "c": Gateway(world, "c", join="ab"),
        }
        for gateway in gateways.values():
            assert gateway.lines(reaching(2))
        peers = {name: Worker(world, name) for name in "abc"}
        readers = {name: peer.do("reader", topic="chat", type="Message") for name, peer in peers.items()}
        writers = {name: peer.do("writer", topic="chat", type="Message") for name, peer in peers.items()}
        for name, peer in peers.items():  # its own site's reader, and the tap for the other two
            assert peer.do("wait_matched", entity=writers[name], count=2), name
            assert peer.do("wait_matched", entity=readers[name], count=3), name
        for place, (name, peer) in enumerate(peers.items()):
            peer.do("write", entity=writers[name], samples=messages(1_000 * place))
        expected = sorted(1_000 * place + number for place in range(3) for number in range(COUNT))
        for name, peer in peers.items():
            taken = peer.do("take", entity=readers[name], count=3 * COUNT)
            assert numbers(taken) == expected, name
        for name, peer in peers.items():  # nothing goes round
            assert peer.do("take", entity=readers[name], count=1, timeout=1) == [], name

        gateways["b"].kill()  # a site vanishes …
        peers["a"].do("write", entity=writers["a"], samples=messages(5_000))
        assert len(peers["c"].do("take", entity=readers["c"], count=COUNT)) == COUNT
        gateways["b"] = Gateway(world, "b", join="ac")  # … and returns
        assert gateways["b"].lines(reaching(2))
        end = time.monotonic() + 600
        back: list[int] = []
        number = 9_000
        while not back and time.monotonic() < end:
            peers["a"].do("write", entity=writers["a"], samples=messages(number, 1))
            back = numbers(peers["b"].do("take", entity=readers["b"], count=1, timeout=0.5))
            number += 1
        assert back, "site b hears nothing after its return"
        assert set(back) <= set(range(9_000, number))


def test_a_condition_acts_at_the_site_of_the_writer() -> None:
    with sites("ab") as world:
        source = Gateway(world, "a", more=("--json",))
        schema = ("--topic", "chat", "--schema", "number:int32,text:string", "--type-name", "test::Message")
        target = Gateway(world, "b", join="a", more=(*schema, "--where", "number BETWEEN 10 AND 14"))
        peer = Worker(world, "a")
        writer = peer.do("writer", topic="chat", type="Message")
        assert peer.do("wait_matched", entity=writer, count=1)
        peer.do("write", entity=writer, samples=messages(0))
        printed = target.lines(lambda lines: len(lines) == 5)
        assert [json.loads(line)["number"] for line in printed] == [10, 11, 12, 13, 14]
        status = json.loads(source.lines(lambda lines: '"samples out": 5' in lines[-1])[-1])
        assert status["counters"]["samples spared"] == COUNT - 5
