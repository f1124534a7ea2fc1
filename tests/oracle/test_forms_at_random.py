"""Every form of the language, written at random with DuckDB's SQL beside it: row, batch and saved set, 10⁷ pairs."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rookery
from rookery.matching import ENGINES, CompiledSet
from rookery.model import parse, to_text
from rookery.model.functions import FUNCTIONS

from .forms import Form, FormWriter
from .forms_events import FORMS_SCHEMA, forms_events, satisfied_forms
from .forms_nested import NOW
from .forms_words import DUCKDB_ALONE, unused

SCHEMA = rookery.Schema.from_dict(FORMS_SCHEMA)


def matcher_of(forms: list[Form], engine: str = "bitmap") -> Any:
    matcher = rookery.matcher(SCHEMA, engine=engine)
    parameters = pa.array([list(one.parameters) for one in forms], pa.list_(pa.string()))
    ids = pa.array(range(len(forms)), pa.int64())
    matcher.add_many(pa.table({"subscription_id": ids, "where": [one.text for one in forms], "parameters": parameters}))
    return matcher


def pairs_of(matches: pa.Table, width: int) -> np.ndarray[Any, Any]:
    return np.sort(matches["event_id"].to_numpy() * width + matches["subscription_id"].to_numpy())


def due_pairs(table: pa.Table, forms: list[Form]) -> np.ndarray[Any, Any]:
    found = satisfied_forms(table, forms)
    return np.sort(np.concatenate([ids * len(forms) + place for place, ids in enumerate(found)]))


def shown(pair: int, table: pa.Table, forms: list[Form], due: np.ndarray[Any, Any]) -> str:
    event, place = divmod(pair, len(forms))
    one = forms[place]
    return f"DuckDB says {pair in due} of {one.text!r} {one.parameters} for {table.slice(event, 1).to_pylist()[0]}"


def compared(matcher: Any, table: pa.Table, forms: list[Form]) -> np.ndarray[Any, Any]:
    due, found = due_pairs(table, forms), pairs_of(matcher.match_many(table, now=NOW), len(forms))
    different = np.setxor1d(due, found)
    assert not len(different), shown(int(different[0]), table, forms, due)
    assert len(found) == len(due), "a match is given twice"
    return due


def test_ten_million_pairs_of_every_form_are_what_duckdb_says() -> None:
    pairs = matches = 0
    texts = set()
    for seed in range(4):
        writer = FormWriter(Random(seed))
        forms = [writer.condition() for _ in range(1000)]
        table = forms_events(np.random.default_rng(seed), 2600)
        matches += len(compared(matcher_of(forms), table, forms))
        pairs += len(forms) * table.num_rows
        texts |= {one.text for one in forms}
    assert pairs >= 10_000_000
    assert pairs // 10 < matches < pairs * 9 // 10
    assert len(texts) > 3000


@pytest.mark.slow
def test_a_hundred_million_pairs_of_every_form_are_what_duckdb_says() -> None:
    for seed in range(1000, 1100):
        writer = FormWriter(Random(seed), pool=60)
        forms = [writer.condition() for _ in range(1000)]
        compared(matcher_of(forms), forms_events(np.random.default_rng(seed), 1000), forms)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_row_and_saved_set_say_what_duckdb_says(engine: str) -> None:
    for seed in (21, 22):
        writer = FormWriter(Random(seed), pool=30)
        forms = [writer.condition() for _ in range(80)]
        table = forms_events(np.random.default_rng(seed), 60)
        matcher = matcher_of(forms, engine)
        due = compared(matcher, table, forms)
        for event, row in enumerate(table.drop_columns("event_id").slice(0, 8).to_pylist(maps_as_pydicts="strict")):
            mine = [pair % len(forms) for pair in due.tolist() if pair // len(forms) == event]
            assert sorted(matcher.match(row, now=NOW)) == mine, row
        if engine == "bitmap":
            saved = CompiledSet.from_bytes(matcher.compile().to_bytes(), verify="texts")
            assert np.array_equal(pairs_of(saved.match_many(table, now=NOW), len(forms)), due)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 2**32))
def test_any_form_is_printed_matched_edited_and_explained_as_duckdb_says(random: Random, seed: int) -> None:
    writer = FormWriter(random, pool=4)
    forms = [writer.condition() for _ in range(3)]
    table = forms_events(np.random.default_rng(seed), 25)
    for one in forms:
        tree = parse(one.text)
        assert parse(to_text(tree)) == tree
    matcher = matcher_of(forms)
    due = compared(matcher, table, forms)
    for place, one in enumerate(forms):
        matcher.remove(place)
        matcher.add(place, one.text, parameters=list(one.parameters) or None)
    assert np.array_equal(pairs_of(matcher.match_many(table, now=NOW), len(forms)), due)
    row = table.drop_columns("event_id").slice(0, 1).to_pylist(maps_as_pydicts="strict")[0]
    for place in range(len(forms)):
        assert matcher.explain(place, row, now=NOW).matched == (place in due), (forms[place].text, row)


def test_covers_says_yes_only_where_no_event_says_otherwise() -> None:
    """Of random pairs most are told apart by an event; of the others more than a quarter is proved."""
    writer = FormWriter(Random(5), pool=12)
    forms = [one for one in (writer.condition() for _ in range(150)) if not one.parameters][:60]
    table = forms_events(np.random.default_rng(5), 1500)
    held = [set(ids.tolist()) for ids in satisfied_forms(table, forms)]
    proved = open_pairs = 0
    for wide, wide_held in zip(forms, held, strict=True):
        for narrow, narrow_held in zip(forms, held, strict=True):
            if narrow is not wide and narrow_held:
                yes = rookery.covers(wide.text, narrow.text, SCHEMA)
                assert not yes or narrow_held <= wide_held, (wide.text, narrow.text)
                open_pairs += narrow_held <= wide_held
                proved += yes
    assert proved > open_pairs // 4 > 10


def test_the_writer_uses_every_word_and_function() -> None:
    writers = [FormWriter(Random(seed), pool=400) for seed in range(3)]
    assert unused((writer.condition() for writer in writers for _ in range(2000)), FUNCTIONS) == set()
    plain = [FormWriter(Random(seed), pool=400, plain=True) for seed in range(3)]
    assert unused((writer.condition() for writer in plain for _ in range(2000)), FUNCTIONS) == DUCKDB_ALONE


def test_a_wrong_answer_is_seen() -> None:
    writer = FormWriter(Random(3))
    forms = [writer.condition() for _ in range(50)]
    table = forms_events(np.random.default_rng(3), 200)
    due = due_pairs(table, forms)
    place = int(np.bincount(due % len(forms), minlength=len(forms)).argmax())
    forms[place] = Form(forms[place].text, "(a > 100)", "", forms[place].parameters)
    with pytest.raises(AssertionError, match="DuckDB says False"):
        compared(matcher_of(forms), table, forms)
