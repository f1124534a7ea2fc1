"""`explain` says what the oracle says, with the event's values and the predicate that decided."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rookery
from model.generators import random_event, random_filter, random_schema
from rookery.errors import UnknownSubscriptionError
from rookery.matching import ENGINES

SCHEMA = rookery.Schema.from_dict({"symbol": "string", "price": "float64", "volume": "int64", "at": "timestamp[us]"})
EVENT = {"symbol": "ACME", "price": 12.0, "volume": 100, "at": "2026-05-01T12:00:00Z"}


@settings(max_examples=100)
@given(st.randoms(use_true_random=False))
def test_an_explanation_agrees_with_the_match(random: Random) -> None:
    schema = random_schema(random, most=3)
    where, parameters = random_filter(random, schema, depth=2)
    event = random_event(random, schema)
    for engine in ENGINES:
        matcher = rookery.matcher(schema, engine=engine)
        matcher.add("a", where, parameters=parameters)
        explanation = matcher.explain("a", event)
        assert explanation.matched == (matcher.match(event) == ["a"])
        assert str(explanation)
        assert explanation.to_dict()["matched"] == explanation.matched
        if explanation.findings:
            assert any(finding.decided for finding in explanation.findings)


@pytest.fixture(params=ENGINES)
def matcher(request: pytest.FixtureRequest) -> object:
    made = rookery.matcher(SCHEMA, engine=request.param)
    made.add("cheap", "symbol = 'ACME' AND price < 10 AND volume > 50")
    made.add("either", "price < 10 OR (volume > 50 AND NOT symbol LIKE 'X%')")
    made.add("all", "", topic="quotes")
    made.add("never", "FALSE")
    return made


def test_the_first_false_predicate_of_an_and_decides(matcher: rookery.matching.Matcher) -> None:
    explanation = matcher.explain("cheap", EVENT)
    assert not explanation.matched
    assert [(one.text, one.verdict, one.decided) for one in explanation.findings] == [
        ("symbol = 'ACME'", True, False),
        ("price < 10", False, True),
        ("volume > 50", True, False),
    ]
    assert explanation.findings[1].values == {"price": 12.0}
    shown = str(explanation)
    assert "'cheap' version 1 does not match: its condition is false" in shown
    assert "price is 12.0  <- decides" in shown


def test_every_predicate_of_a_true_and_decides(matcher: rookery.matching.Matcher) -> None:
    explanation = matcher.explain("cheap", {**EVENT, "price": 9.5})
    assert explanation.matched
    assert all(one.decided and one.verdict for one in explanation.findings)


def test_an_unknown_predicate_is_named(matcher: rookery.matching.Matcher) -> None:
    explanation = matcher.explain("cheap", {"symbol": "ACME", "volume": 60})
    assert not explanation.matched
    assert explanation.reason == "its condition is unknown"
    assert [one.text for one in explanation.findings if one.decided] == ["price < 10"]
    assert "price is NULL" in str(explanation)


def test_nested_conditions_are_indented(matcher: rookery.matching.Matcher) -> None:
    explanation = matcher.explain("either", EVENT)
    assert explanation.matched
    assert [one.text for one in explanation.findings if one.decided] == ["volume > 50", "symbol LIKE 'X%'"]
    assert max(one.depth for one in explanation.findings) > 0


def test_filters_without_predicates_are_explained(matcher: rookery.matching.Matcher) -> None:
    assert matcher.explain("all", EVENT, topic="quotes").reason == "its filter is empty"
    assert matcher.explain("never", EVENT).reason == "its filter is FALSE"
    assert not matcher.explain("never", EVENT).matched


def test_another_topic_is_the_reason(matcher: rookery.matching.Matcher) -> None:
    explanation = matcher.explain("all", EVENT, topic="trades")
    assert not explanation.matched
    assert explanation.reason == "it listens to topic 'quotes', and the event is of 'trades'"


def test_dates_are_the_reason(matcher: rookery.matching.Matcher) -> None:
    matcher.add("dated", "price > 1", version=1, valid_from="2026-01-01T00:00:00Z", valid_to="2026-02-01T00:00:00Z")
    matcher.add("dated", "price > 100", version=2, valid_from="2026-02-01T00:00:00Z")
    assert matcher.explain("dated", EVENT, time="2026-01-15T00:00:00Z").version == 1
    assert matcher.explain("dated", EVENT, time="2026-01-15T00:00:00Z").matched
    late = matcher.explain("dated", EVENT, time="2026-03-01T00:00:00Z")
    assert (late.version, late.matched, late.reason) == (2, False, "its condition is false")
    old = matcher.explain("dated", EVENT, time="2026-03-01T00:00:00Z", version=1)
    assert not old.matched
    assert "not in effect at 2026-03-01T00:00:00+00:00" in old.reason
    with pytest.raises(UnknownSubscriptionError, match="no version 9"):
        matcher.explain("dated", EVENT, version=9, time="2026-03-01T00:00:00Z")


def test_instants_are_shown_as_the_language_writes_them(matcher: rookery.matching.Matcher) -> None:
    matcher.add("noon", "at >= TIMESTAMP '2026-05-01T12:00:00Z'")
    assert "at is '2026-05-01T12:00:00Z'" in str(matcher.explain("noon", EVENT))


def test_a_box_is_explained_without_text() -> None:
    matcher = rookery.matcher(SCHEMA)
    matcher.add_boxes(["b"], lower={"price": [10.0]})
    assert matcher.explain("b", EVENT).matched
    assert not matcher.explain("b", {"price": 1.0}).matched


@pytest.mark.parametrize("engine", rookery.matching.ENGINES)
@pytest.mark.parametrize("bulk", [False, True])
def test_integer_ids_are_explained_however_they_came(engine: str, bulk: bool) -> None:
    matcher = rookery.matcher(rookery.Schema(x=int), engine=engine)
    if bulk:
        matcher.add_many([{"subscription_id": 1, "where": "x > 1"}])
    else:
        matcher.add(1, "x > 1")
    assert matcher.explain(1, {"x": 2}).matched
    for stranger in (2, "1", 1 << 70, "\ud800"):
        with pytest.raises(rookery.errors.UnknownSubscriptionError):
            matcher.explain(stranger, {"x": 2})
