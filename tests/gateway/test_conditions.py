"""Conditions of many sites in one set: the answers of a matcher per site, at the price of one for each schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.gateway.conditions import TopicConditions
from rookery.gateway.messages import Forwarded, Want
from rookery.matching.matcher import Matcher
from rookery.participant.event_types import EventType, event_type
from rookery.rtps.events import SampleKind

from .site_condition import SiteCondition

QUOTES: dict[str, object] = {"symbol": "string", "price": "float64"}
#: The same bytes, read in another way.
SWAPPED: dict[str, object] = {"price": "float64", "symbol": "string"}
TYPE = event_type(QUOTES, type_name="Quote")
SITES = [f"site-{number}" for number in range(5)]


def sample(price: float, symbol: str = "ACME", *, channel: int = 1) -> Forwarded:
    payload = TYPE.encode({"symbol": symbol, "price": price})
    return Forwarded(channel, b"writer", 1, int(SampleKind.ALIVE), b"", payload)


def want(*clauses: str, channel: int = 1, schema: dict[str, object] = QUOTES) -> Want:
    return Want(channel, True, list(clauses), schema if clauses else {}, 1)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often an event was decoded and matched; both are done as ever."""
    made: Counter[str] = Counter()

    def counted(name: str, real: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            made[name] += 1
            return real(*arguments, **options)

        return call

    monkeypatch.setattr(EventType, "decode", counted("decoded", EventType.decode))
    monkeypatch.setattr(Matcher, "match", counted("matched", Matcher.match))
    return made


def test_a_sample_is_decoded_once_and_matched_once_for_all_sites(calls: Counter[str]) -> None:
    conditions = TopicConditions("Quote")
    for place, site in enumerate(SITES):
        assert conditions.state(site, want(f"price < {place}", "symbol = 'NONE'")) == ""
    assert conditions.wanting(SITES, sample(2.5)) == SITES[3:]
    assert calls == {"decoded": 1, "matched": 1}


def test_a_sample_is_decoded_and_matched_once_for_each_schema(calls: Counter[str]) -> None:
    conditions = TopicConditions("Quote")
    for site in SITES[:3]:
        conditions.state(site, want("price < 1"))
    for site in SITES[3:]:
        conditions.state(site, want("price < 1", schema={"symbol": "string", "price": "int64"}))
    conditions.wanting(SITES, sample(2.5))
    assert calls == {"decoded": 2, "matched": 2}


def test_a_sample_is_not_read_where_its_channel_has_no_conditions(calls: Counter[str]) -> None:
    conditions = TopicConditions("Quote")
    conditions.state("site-0", want("price < 1", channel=1))
    conditions.state("site-1", want(channel=2))
    assert conditions.wanting(["site-0", "site-1"], sample(2.5, channel=2)) == ["site-0", "site-1"]
    assert not calls


def test_a_clause_that_many_sites_state_is_compiled_once() -> None:
    conditions = TopicConditions("Quote")
    for site in SITES:
        conditions.state(site, want("price < 1"))
    (compiled,) = conditions._by_schema.values()
    assert len(compiled._matcher) == 1
    for site in SITES[1:]:
        conditions.withdraw(site, 1)
    assert conditions.wanting(["site-0", "site-1"], sample(2.0)) == ["site-1"]  # without conditions everything
    conditions.withdraw("site-0", 1)
    assert not conditions
    assert not conditions._by_schema


def test_a_site_whose_clause_is_not_understood_gets_everything_and_the_others_what_they_want() -> None:
    conditions = TopicConditions("Quote")
    conditions.state("site-0", want("price < 1"))
    assert "volume" in conditions.state("site-1", want("price < 1", "volume > 2"))
    assert conditions.state("site-2", want("price < 1", schema={"price": 7})) != ""
    assert conditions.wanting(["site-0", "site-1", "site-2"], sample(5.0)) == ["site-1", "site-2"]
    assert conditions.state("site-1", want("price < 9")) == ""
    assert conditions.wanting(["site-0", "site-1"], sample(5.0)) == ["site-1"]
    assert conditions.wanting(["site-0", "site-1"], sample(10.0)) == []


@pytest.mark.parametrize("kind", [SampleKind.DISPOSED, SampleKind.UNREGISTERED, SampleKind.DISPOSED_AND_UNREGISTERED])
def test_the_end_of_an_instance_travels(kind: SampleKind) -> None:
    conditions = TopicConditions("Quote")
    conditions.state("site-0", want("FALSE"))
    ended = Forwarded(1, b"writer", 1, int(kind), b"", sample(1.0).payload)
    assert conditions.wanting(["site-0"], ended) == ["site-0"]


CLAUSES = st.sampled_from(
    ["price < 3", "price >= 3", "symbol = 'A'", "symbol LIKE 'A%' AND price <> 2", "TRUE", "FALSE", "volume > 1", "(("]
)
SCHEMAS = st.sampled_from([QUOTES, QUOTES, SWAPPED, {"price": "decimal"}, {"symbol": "string"}])
WANTS = st.builds(
    lambda channel, clauses, schema: want(*clauses, channel=channel, schema=schema),
    st.integers(1, 2),
    st.lists(CLAUSES, max_size=3),
    SCHEMAS,
)
SAMPLES = st.builds(
    lambda price, symbol, channel: sample(price, symbol, channel=channel),
    st.integers(0, 5).map(float),
    st.sampled_from(["A", "AB", "C", ""]),
    st.integers(1, 2),
) | st.builds(
    Forwarded, st.integers(1, 2), st.just(b"w"), st.just(1), st.integers(0, 3), st.just(b""), st.binary(max_size=20)
)
STEPS = st.lists(
    st.tuples(st.sampled_from(SITES), WANTS) | st.tuples(st.sampled_from(SITES), st.integers(1, 2)) | SAMPLES,
    max_size=25,
)


@given(STEPS)
def test_one_set_answers_as_a_matcher_for_each_site_does(steps: list[Any]) -> None:
    conditions = TopicConditions("Quote")
    twins: dict[tuple[int, str], SiteCondition] = {}
    for step in steps:
        match step:
            case Forwarded():
                plain = SiteCondition(want(), "Quote")
                expected = [site for site in SITES if twins.get((step.channel, site), plain).holds(step)]
                assert conditions.wanting(SITES, step) == expected
            case (site, Want() as stated):
                twin = twins[stated.channel, site] = SiteCondition(stated, "Quote", engine="scan")
                assert bool(conditions.state(site, stated)) == bool(twin.fault)
            case (site, channel):
                twins.pop((channel, site), None)
                conditions.withdraw(site, channel)
