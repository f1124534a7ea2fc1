"""A zone's store: a batch gives the pairs that its events give one by one, whatever was added and removed before."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from matching.probes import probes
from rookery.brokers.conditions import FEW
from rookery.brokers.messages import PlacedSubscription
from rookery.brokers.store import ZoneStore
from rookery.matching import ScanMatcher
from rookery.model.schema import Schema

SCHEMA = Schema(symbol=str, price=float, size=int, text=str)
CONDITIONS = (
    "price < 3",
    "symbol = 'a' AND price >= 2",
    "size IN (1, 2) OR symbol LIKE 'b%'",
    "text IS NULL",
    "price > size",
    "NOT symbol = 'price'",
    "",
    "this cannot be read",
)
VALUES = {
    "symbol": st.sampled_from(["a", "b", "bb", "price", None]),
    "price": st.one_of(st.integers(-1, 5), st.floats(-1, 5), st.none()),
    "size": st.integers(0, 3),
    "text": st.sampled_from(["x", None]),
}
#: Values that the schema cannot read: their event satisfies nothing, those beside it are matched all the same.
ODD = {"symbol": st.just(1), "price": st.just("odd"), "size": st.just(1 << 70), "text": st.just(7)}
EVENTS = st.lists(st.fixed_dictionaries({}, optional=VALUES), min_size=1, max_size=FEW + 10)
ODD_EVENTS = st.lists(
    st.fixed_dictionaries({}, optional={name: st.one_of(VALUES[name], ODD[name]) for name in VALUES}),
    min_size=1,
    max_size=FEW + 10,
)
EDITS = st.lists(
    st.tuples(st.sampled_from("stuvw"), st.integers(0, len(CONDITIONS)), st.integers(1, 3)), min_size=1, max_size=12
)


@given(EDITS, EDITS, st.one_of(EVENTS, ODD_EVENTS))
def test_a_batch_gives_what_its_events_give(before: list[Any], after: list[Any], events: list[dict[str, Any]]) -> None:
    store = ZoneStore(SCHEMA)
    versions = 0
    for edits in (before, after):
        for name, condition, access_broker in edits:
            versions += 1
            edit(store, {}, name, condition, access_broker, versions)
        one_by_one = [
            (row, one.subscription_id, one.access_broker)
            for row, event in enumerate(events)
            for one in store.match(event)
            if one.where
        ]
        assert pairs_of(store, events) == sorted(one_by_one)


@given(EDITS, EDITS, EVENTS)
def test_a_batch_gives_what_the_oracle_says(before: list[Any], after: list[Any], events: list[dict[str, Any]]) -> None:
    store = ZoneStore(SCHEMA)
    held: dict[str, tuple[str, int]] = {}
    versions = 0
    for edits in (before, after):
        for name, condition, access_broker in edits:
            versions += 1
            edit(store, held, name, condition, access_broker, versions)
        oracle = ScanMatcher(SCHEMA, on_error="quarantine")
        for name, (where, _) in held.items():
            if where:
                oracle.add(name, where)
        said = [
            (row, str(name), held[str(name)][1]) for row, event in enumerate(events) for name in oracle.match(event)
        ]
        assert pairs_of(store, events) == sorted(said)
        assert {one.subscription_id for one in store.every()} == {
            name for name, (where, _) in held.items() if not where
        }


@given(EDITS, EDITS, EDITS, EVENTS)
def test_edits_while_the_conditions_are_lent(
    before: list[Any], meanwhile: list[Any], after: list[Any], events: list[dict[str, Any]]
) -> None:
    """Matches are those of before, but for names that are gone, at the brokers of now; the next ones know the edits."""
    store = ZoneStore(SCHEMA)
    held: dict[str, tuple[str, int]] = {}
    columns = {name: [event.get(name) for event in events] for name in dict.fromkeys(n for e in events for n in e)}
    versions = iter(range(1, 100))
    for name, condition, access_broker in before:
        edit(store, held, name, condition, access_broker, next(versions))
    if not store.has_conditions:
        return
    pairs_of(store, events)  # so that there are numbers
    expected = {(row, name) for row, name, _ in pairs_of(store, events)}
    loan = store.lend()
    ever = set(held)
    for name, condition, access_broker in meanwhile:
        edit(store, held, name, condition, access_broker, next(versions))
        ever &= set(held)
    pairs = loan.match_columns(columns, len(events))
    found = store.give_back(pairs)
    got = set(zip(found.rows.tolist(), found.names.tolist(), found.access_brokers.tolist(), strict=True))
    assert {(row, name) for row, name, _ in got} >= {(row, name) for row, name in expected if name in ever}
    assert {(row, name) for row, name, _ in got} <= {(row, name) for row, name in expected if name in held}
    assert all(access_broker == held[name][1] for _, name, access_broker in got)
    for name, condition, access_broker in after:
        edit(store, held, name, condition, access_broker, next(versions))
    assert pairs_of(store, events) == sorted(
        (row, one.subscription_id, one.access_broker)
        for row, event in enumerate(events)
        for one in store.match(event)
        if one.where
    )
    fresh = ZoneStore(SCHEMA)
    for number, (name, (where, access_broker)) in enumerate(held.items()):
        fresh.add(PlacedSubscription(name, number + 1, where, (), (), (), access_broker), 1)
    assert pairs_of(store, events) == pairs_of(fresh, events)


def test_numbers_are_used_again_and_no_edit_is_kept_for_what_came_and_went() -> None:
    store = ZoneStore(SCHEMA)
    store.add(PlacedSubscription("stays", 1, "price < 3", (), (), (), 1), 1)
    assert pairs_of(store, [{"price": 1.0}]) == [(0, "stays", 1)]
    for number in range(1000):  # and no event meanwhile
        store.add(PlacedSubscription(f"s{number}", 1, "price < 3", (), (), (), 1), 1)
        store.remove(f"s{number}")
    assert not store.lend().edits
    store.abandon()
    assert pairs_of(store, [{"price": 1.0}]) == [(0, "stays", 1)]


def edit(
    store: ZoneStore, held: dict[str, tuple[str, int]], name: str, condition: int, access_broker: int, version: int
) -> None:
    if condition == len(CONDITIONS):
        store.remove(name)
        held.pop(name, None)
    else:
        store.add(PlacedSubscription(name, version, CONDITIONS[condition], (), (), (), access_broker), 1)
        held[name] = (CONDITIONS[condition], access_broker)


def pairs_of(store: ZoneStore, events: list[dict[str, Any]]) -> list[tuple[int, str, int]]:
    names = dict.fromkeys(name for event in events for name in event)
    found = store.match_columns({name: [event.get(name) for event in events] for name in names}, len(events))
    rows = found.rows.tolist()
    assert rows == sorted(rows)
    return sorted(zip(rows, found.names.tolist(), found.access_brokers.tolist(), strict=True))


def test_the_engine_that_is_asked_for_matches_in_a_zone() -> None:
    with probes() as asked:
        store = ZoneStore(SCHEMA, engine="matrix")
        for number, where in enumerate(CONDITIONS[:4]):
            store.add(PlacedSubscription(f"s{number}", 1, where, (), (), (), 0), 1)
        events = [{"symbol": "a", "price": float(row), "size": 1} for row in range(FEW + 1)]
        assert [one.subscription_id for one in store.match(events[0])] == ["s0", "s2", "s3"]
        assert len(pairs_of(store, events)) == 3 + 2 * len(events) + (len(events) - 2)
    assert asked.events["matrix"] == 1 + len(events)
    assert set(asked.events) == {"matrix"}
