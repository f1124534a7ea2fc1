"""Several interfaces: one participant on two networks is met on both, and has a second way where one ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rookery.errors import JoinError
from rookery.live.interfaces import find_interface, find_interfaces

from .sites import Sites, Worker, answer_of, why_not

SESSION = Path(__file__).with_name("interfaces_session.py")


@contextmanager
def sites(names: str, *, on_both: str) -> Iterator[Sites]:
    if reason := why_not():
        pytest.skip(reason)
    with Sites(names) as made:
        made.second_network(on_both)
        yield made


class Node:
    """A client of ours at a site."""

    def __init__(self, world: Sites, name: str, *, on: str, options: tuple[str, ...] = ()) -> None:
        self._process = world.start(name, sys.executable, str(SESSION), on, *options)
        assert answer_of(self._process) == "ready"

    def do(self, command: str) -> Any:
        return answer_of(self._process, command)


def test_names_with_commas_are_interfaces_each_once() -> None:
    lo = find_interface("lo")
    assert find_interfaces("lo") == find_interfaces("lo, 127.0.0.1") == (lo,)
    with pytest.raises(JoinError, match="no interface 'nothing'"):
        find_interfaces("lo,nothing")


@pytest.mark.wire
def test_one_node_on_two_networks_and_nodes_of_two_stacks_on_one_each() -> None:
    pytest.importorskip("cyclonedds")
    with sites("abc", on_both="ac") as world:
        both = Node(world, "a", on="rk0,rk1,lo")
        first = Node(world, "b", on="rk0")
        second = Worker(world, "c", interface="rk1")  # Cyclone DDS
        reader = second.do("reader", topic="numbers", type="Message")
        writer = second.do("writer", topic="numbers", type="Message")
        assert second.do("wait_matched", entity=writer, count=2)  # its own reader too
        both.do("readers 3")  # with its own
        first.do("readers 2")
        both.do("write 0 100")
        first.do("write 1000 1100")
        second.do("write", entity=writer, samples=[{"number": 2_000 + number, "text": ""} for number in range(100)])
        ours, theirs, cyclone = [*range(100)], [*range(1_000, 1_100)], [*range(2_000, 2_100)]
        assert sorted(both.do("got 300")) == ours + theirs + cyclone
        # The networks are two: what one of them says does not cross to the other.
        assert sorted(first.do("got 200")) == ours + theirs
        taken = second.do("take", entity=reader, count=200)
        assert sorted(sample["number"] for sample, _ in taken) == ours + cyclone
        assert set(both.do("reached 2")) == {world.addresses["b"], world.further["c"]}


@pytest.mark.wire
@pytest.mark.parametrize("pulled", ["rk0", "rk1"])
def test_where_one_of_two_ways_ends_the_other_goes_on_and_nothing_is_lost(pulled: str) -> None:
    with sites("ab", on_both="ab") as world:
        options = ("3", "kept")  # a short lease
        one, other = Node(world, "a", on="rk0,rk1", options=options), Node(world, "b", on="rk1,rk0", options=options)
        one.do("readers 2")
        other.do("readers 2")
        one.do("write 0 100")
        assert other.do("got 100") == [*range(100)]
        world.link("a" if pulled == "rk0" else "a1", "down")
        one.do("write 100 200")  # acknowledged only when the other has it
        other.do("write 5000 5100")
        assert sorted(other.do("got 300")) == [*range(200), *range(5_000, 5_100)]
        assert sorted(one.do("got 300")) == [*range(200), *range(5_000, 5_100)]
        left = world.further if pulled == "rk0" else world.addresses
        assert one.do("reached 1") == [left["b"]]
        assert other.do("reached 1") == [left["a"]]
