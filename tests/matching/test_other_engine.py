"""A compiled set that another engine matches: the engine is asked, the pairs are the same, the bytes are the set's."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

import rookery
from matching.probes import STRUCTURES, probes
from rookery.matching import INDEXES, CompiledSet, matched_by

SCHEMA = rookery.Schema(x=float, s=str)
EVENTS = pa.table(
    {"event_id": range(6), "x": [1.0, 5.0, 9.0, None, 5.0, 7.0], "s": list("aabbcc"), "topic": list("ttuuuv")}
)


def compiled(engine: str = "bitmap") -> CompiledSet:
    made = rookery.matcher(SCHEMA, engine=engine)
    made.add("low", "x < 6", topic="t")
    made.add("high", "x > 4 AND x < 8", topic="u")
    made.add("any", "s <> 'b'")
    return made.compile()


@pytest.mark.parametrize("engine", INDEXES)
def test_the_engine_is_asked_and_gives_the_same_pairs(engine: str) -> None:
    whole = compiled()
    wanted = whole.match_many(EVENTS)
    with probes() as asked:
        other = matched_by(whole, engine)
        assert other.match_many(EVENTS).equals(wanted)
        assert other.names(other.match_indices(EVENTS)[1])[0].equals(wanted["subscription_id"].combine_chunks())
        assert other.match({"x": 5.0, "s": "a"}, topic="t") == ["low", "any"]
    if engine in STRUCTURES:
        assert asked.events == {engine: 2 * len(EVENTS) + 1}
    assert wanted.num_rows == 7


def test_its_bytes_are_those_of_the_set_whatever_matches_it() -> None:
    """`compile()` of any engine is the one form that is saved: equal sets have equal hashes."""
    whole = compiled()
    for engine in INDEXES:
        assert compiled(engine).content_hash == whole.content_hash
        other = matched_by(compiled(engine), engine)
        assert other.content_hash == whole.content_hash
        assert other.to_bytes() == whole.to_bytes()
        assert pickle.loads(pickle.dumps(other)).match_many(EVENTS).equals(whole.match_many(EVENTS))
        assert other.take([0, 2]).match_many(EVENTS).equals(whole.take([0, 2]).match_many(EVENTS))


@pytest.mark.parametrize("engine", ["scan", "btree"])
def test_what_is_no_index_is_refused(engine: str) -> None:
    with pytest.raises(ValueError, match="matched by bitmap, matrix"):
        matched_by(compiled(), engine)
