"""A set as it stands is matched like the packed one, and stays what it was while its matcher goes on."""

from __future__ import annotations

import pyarrow as pa
import pytest

from rookery import CompiledSet, Schema, matcher
from rookery.matching import INDEXES, Matcher, matched_by

EVENTS = pa.table({"event_id": list(range(100)), "x": list(range(100))})


def pairs(compiled: CompiledSet) -> list[tuple[int, str]]:
    found = compiled.match_many(EVENTS)
    return sorted(zip(found["event_id"].to_pylist(), found["subscription_id"].to_pylist(), strict=True))


@pytest.fixture
def edited() -> Matcher:
    live = matcher(Schema(x=int))
    assert isinstance(live, Matcher)
    live.add_many([{"subscription_id": f"s{number}", "where": f"x > {90 + number % 10}"} for number in range(50)])
    live = matcher(live.compile())
    assert isinstance(live, Matcher)
    live.remove("s3")
    live.replace("s4", "x < 2")
    live.add("new", "x = 50")
    return live


@pytest.mark.parametrize("engine", INDEXES)
def test_it_answers_as_the_packed_set_and_is_saved_as_it(edited: Matcher, engine: str) -> None:
    standing, packed = edited.standing("name"), edited.compile()
    assert (len(standing), standing.content_hash) == (len(packed), "name")
    assert standing.subscriptions.num_rows == len(packed) + 2  # what was removed has its slot still
    assert pairs(matched_by(standing, engine)) == pairs(packed)
    assert pairs(CompiledSet.from_bytes(edited.standing().to_bytes())) == pairs(packed)
    assert len(standing.take([0, 1])) == 2
    again = matcher(standing)
    assert len(again) == len(packed)


def test_it_does_not_change(edited: Matcher) -> None:
    standing = edited.standing()
    before = pairs(standing)
    edited.remove("new")
    edited.add("more", "x >= 0")
    assert pairs(standing) == before
    assert pairs(edited.standing()) != before
