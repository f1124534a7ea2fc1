"""A usual event has the codes that any event gets; one that is not usual is left to the general way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rookery
from rookery.errors import EventError
from rookery.matching.codes import TOPIC, CodeSpace

SCHEMA = rookery.Schema(d=float, i=int, small="int8", b=bool, s=str, e={"$enum": ["low", "high"]})
NAMES = ("d", "i", "small", "b", "s", "e")
VALUES = {
    "d": st.floats(),
    "i": st.integers(-(2**63), 2**63 - 1),
    "small": st.integers(-128, 127),
    "b": st.booleans(),
    "s": st.sampled_from(["", "a", "b", "bb", "c", "ü"]),
    "e": st.sampled_from(["low", "high", "other"]),
}
ODD = st.sampled_from(
    [None, 1, 300, -(2**63), 2**63, 2**80, 0.5, float("nan"), True, "a", "ü", "\ud800", np.float64(2)]
)


def space_of(names: tuple[str, ...], *, topic: int | None) -> CodeSpace:
    """Return a space of some attributes; the topic is registered before so many of them."""
    space = CodeSpace(SCHEMA)
    for place in range(len(names) + 1):
        if place == topic:
            space.insert_texts({space.number(TOPIC.path): ["mine"]})
        if place < len(names):
            number = space.number((names[place],))
            if names[place] == "s":
                space.insert_texts({number: ["a", "bb"]})
    return space


@given(
    names=st.permutations(NAMES).flatmap(lambda all_: st.integers(0, 6).map(lambda count: tuple(all_[:count]))),
    event=st.fixed_dictionaries(VALUES),
    topic=st.sampled_from([None, "mine", "other"]),
    place=st.none() | st.integers(0, 6),
)
def test_a_usual_event_has_the_codes_of_any(
    names: tuple[str, ...], event: dict[str, Any], topic: str | None, place: int | None
) -> None:
    space = space_of(names, topic=place)
    codes = space.encode_usual(event, topic)
    strange = ("s" in names and event["s"] == "ü") or ("e" in names and event["e"] == "other")
    assert (codes is None) == strange
    if codes is not None and len(space):
        assert np.array_equal(codes, space.encode_event(event, {TOPIC.text: topic}))


@given(event=st.fixed_dictionaries({}, optional={name: VALUES[name] | ODD for name in NAMES}))
def test_an_odd_event_is_never_judged_here(event: dict[str, Any]) -> None:
    """What `encode_event` refuses has no usual codes, and what it does not refuse has the same or none."""
    space = space_of(NAMES, topic=None)
    codes = space.encode_usual(event, None)
    try:
        wanted = space.encode_event(event, {})
    except EventError:
        assert codes is None
    else:
        assert codes is None or np.array_equal(codes, wanted)


@pytest.mark.parametrize(
    "where", ["t > TIMESTAMP '2026-01-01'", "u = 3", "f = 0.5", "x.y = 1", "i + 1 = 2", "s LIKE '%a%'"]
)
def test_attributes_that_are_not_plain_are_left_to_the_general_way(where: str) -> None:
    schema = rookery.Schema(t="timestamp", u="uint64", f="float32", x={"y": int}, i=int, s=str)
    event = {"t": "2026-05-05", "u": 3, "f": 0.5, "x": {"y": 1}, "i": 1, "s": "bar"}
    matcher: Any = rookery.matcher(schema)
    matcher.add("one", where)
    assert matcher._view.space.encode_usual(event, None) is None
    assert matcher.match(event) == ["one"]


def test_attributes_that_come_later_are_read_too() -> None:
    """An edit that brings an attribute brings another coder; states before it keep theirs."""
    matcher: Any = rookery.matcher(rookery.Schema(a=float, b=float, s=str))
    matcher.add("a", "a > 1")
    before = matcher.compile()
    assert matcher.match({"a": 2.0}) == ["a"]
    matcher.add("b", "b > 1 AND s = 'x'")
    assert matcher.match({"a": 0.0, "b": 2.0, "s": "x"}) == ["b"]
    assert before.match({"a": 2.0}) == ["a"]
    matcher.add("c", "s = 'y'", topic="t")
    assert matcher.match({"a": 0.0, "b": 2.0, "s": "y"}, topic="t") == ["c"]
    assert matcher.match({"a": 2.0, "b": 2.0, "s": "y", "topic": "u"}) == ["a"]


def test_a_mapping_that_is_no_dict_is_read_as_one() -> None:
    from collections import UserDict, defaultdict

    matcher: Any = rookery.matcher(rookery.Schema(a=float))
    matcher.add("a", "a > 1")
    matcher.add("null", "a IS NULL")
    assert matcher.match(UserDict(a=2.0)) == ["a"]
    lacking: defaultdict[str, float] = defaultdict(float)
    assert matcher.match(lacking) == ["null"]
    assert not lacking  # it was asked for nothing that it would make
