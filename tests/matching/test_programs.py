"""Programs: what AND, OR and NOT come to, in the kernel, in its twin, and as the tree reads."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from tests.twins import rows as twins

import rookery
from rookery.matching.kernels import NULL_CODE
from rookery.matching.program_kernels import ACCEPT, FALSE, OPEN, decide_pairs
from rookery.matching.programs import Programs, ProgramsBuilder
from rookery.matching.texts.index import Truths
from rookery.model.batches import batch_of
from rookery.model.lower import lower
from rookery.model.parser import parse

TEXT = 3
#: A set that tests texts alone has no other attribute: what always holds is then a range of `$text`.
ALWAYS = (TEXT, [(NULL_CODE, (1 << 63) - 1)])


def random_tree(random: Random, depth: int) -> Any:
    shape = random.random()
    if depth == 0 or shape < 0.2:
        number = random.randrange(TEXT + 1)
        low = random.randint(0, 6)
        if number == TEXT:
            return number, [(low, low)]
        return number, [(low, low + 1), (low + 3, low + 4)] if shape < 0.1 else [(low, low + 2)]
    if shape < 0.35:
        return "not", (random_tree(random, depth - 1),)
    return random.choice(["and", "or"]), [random_tree(random, depth - 1) for _ in range(random.randrange(4))]


def holds(tree: Any, codes: list[int], truths: set[int]) -> bool:
    kind, parts = tree
    if kind == "not":
        return not holds(parts[0], codes, truths)
    if kind in ("and", "or"):
        return (all if kind == "and" else any)(holds(part, codes, truths) for part in parts)
    return parts[0][0] in truths if kind == TEXT else any(low <= codes[kind] <= high for low, high in parts)


def _check(outcome: int, tree: Any, codes: list[int], places: Any, labels: Any, states: Any) -> None:
    """Judge what a program says of an event: a verdict is that of every answer to what is open, a place is open."""
    own = range(*places.tolist())
    open_ = [place for place in own if len(states) and states[place] == OPEN]
    if outcome >= 0:
        assert outcome in open_
        return
    sure = {int(labels[place]) for place in own if not len(states) or states[place] == 0}
    for size in range(len(open_) + 1):
        for chosen in combinations(open_, size):
            assert holds(tree, codes, sure | {int(labels[place]) for place in chosen}) == (outcome == ACCEPT)


def test_a_program_decides_as_its_tree_reads() -> None:
    random = Random(5)
    for _ in range(40):
        trees = [random_tree(random, 4) for _ in range(12)]
        programs = Programs()
        for slot, tree in enumerate(trees):  # one at a time, so that parts of every size come to be
            builder = ProgramsBuilder()
            builder.add(2 * slot, tree, ALWAYS)
            programs = programs.extended(builder.build())
        codes = np.array([[random.randint(0, 9) for _ in range(TEXT)] + [99] for _ in range(6)], np.int64)
        said = [sorted(random.sample(range(8), random.randint(0, 4))) for _ in range(6)]
        first = np.cumsum([0, *map(len, said)], dtype=np.int64)
        truths = Truths(first, np.array([label for one in said for label in one], np.int64))
        events, slots = (part.ravel() for part in np.meshgrid(np.arange(6), np.arange(12)))
        wanted = [
            holds(trees[slot], codes[event].tolist(), set(said[event]))
            for event, slot in zip(events.tolist(), slots.tolist(), strict=True)
        ]
        assert programs.decide(events, 2 * slots, codes, TEXT, truths).tolist() == wanted
        rows, jumps = programs.whole()
        steps = (rows.start, rows.attribute, rows.bounds, rows.pool, jumps)
        for states in (np.empty(0, np.int8), np.array(random.choices([0, OPEN, FALSE], k=len(truths.labels)), np.int8)):
            given = (events, slots, codes, TEXT, first, truths.labels, states, *steps)
            outcomes = decide_pairs(*given)
            assert outcomes.tolist() == twins.decide_pairs(*given).tolist()
            for outcome, event, slot in zip(outcomes.tolist(), events.tolist(), slots.tolist(), strict=True):
                _check(outcome, trees[slot], codes[event].tolist(), first[event : event + 2], truths.labels, states)
        kept = np.full(24, -1, np.int64)
        kept[[2, 8, 20]] = [1, 0, 2]
        some = programs.kept(kept)
        chosen = np.isin(2 * slots, [2, 8, 20])
        assert (
            some.decide(events[chosen], kept[2 * slots[chosen]], codes, TEXT, truths).tolist()
            == np.array(wanted)[chosen].tolist()
        )
        assert len(programs.parts) < 5


def ored(random: Random, place: int) -> str:
    """Return a condition of more than 32 terms, of one of several forms."""
    pairs = [
        f"(a{2 * one} BETWEEN {random.randrange(70)} AND {random.randrange(30, 100)} "
        f"OR a{2 * one + 1} >= {random.randrange(100)})"
        for one in range(8)
    ]
    boxes = [
        f"(a{random.randrange(16)} = {random.randrange(100)} AND a{random.randrange(16)} < {random.randrange(100)})"
        for _ in range(40)
    ]
    return (
        " AND ".join(pairs[: 6 + place % 3]),
        f"a1 = {place % 100} AND " + " AND ".join(pairs[:6]),
        f"(a0 = {place % 100} OR note = 'n{place % 7}') AND " + " AND ".join(pairs[1:7]),
        " OR ".join(boxes),
        f"NOT ({' OR '.join(boxes[:6])})",
        f"({' OR '.join(boxes)}) AND {pairs[0]} AND note IS NOT NULL",
        f"({' OR '.join(boxes)} OR note LIKE '%{place % 10}%') AND a2 <> {place}",
        f"note LIKE '%{place % 7}' AND " + " AND ".join(pairs[:7]),
        " AND ".join(f"(a{one % 16} <> {random.randrange(100)} OR note IS NULL)" for one in range(40)),
    )[place % 9]


def test_conditions_of_many_terms_are_decided_by_programs_as_duckdb_says() -> None:
    random = Random(11)
    conditions = [ored(random, place) for place in range(180)]
    count = 300
    events = pa.table(
        {
            "event_id": range(count),
            "note": [None if place % 9 == 0 else f"n{random.randrange(12)}" for place in range(count)],
            **{
                f"a{one}": [None if random.random() < 0.05 else random.randrange(100) for _ in range(count)]
                for one in range(16)
            },
        }
    )
    matcher: Any = rookery.matcher(rookery.Schema(note=str, **{f"a{one}": int for one in range(16)}))
    matcher.add_many([{"subscription_id": place, "where": one} for place, one in enumerate(conditions)])
    with duckdb.connect() as connection:
        connection.register("events", events)
        wanted = sorted(
            (event, place)
            for place, one in enumerate(conditions)
            for (event,) in connection.execute(f"SELECT event_id FROM events WHERE {one}").fetchall()
        )
    found = matcher.match_many(events)
    assert sorted(zip(found["event_id"].to_pylist(), found["subscription_id"].to_pylist(), strict=True)) == wanted
    assert len(wanted) > 3_000
    view = matcher.compile()._view
    assert len(view.programs) > 100
    assert view.inexact_slots() == []  # nothing is left to be evaluated in Python


@pytest.mark.parametrize(
    ("where", "terms", "paths"),
    [
        # One of two values leaves so much out that no range beside it is worth a term.
        (" AND ".join(f"(a{2 * one} < 5 OR a{2 * one + 1} > 7)" for one in range(7)) + " AND (a14 = 3 OR a15 = 4)", 2,
         [{14}, {15}]),
        # What must hold anyway comes on top, and so do the values of an OR that is not worth its terms.
        ("(" + " OR ".join(f"a1 = {one} AND a2 > {one}" for one in range(40)) + ") AND a3 = 5", 1, [{1, 2, 3}]),
        # More attributes than terms: those of the fewest terms are one, and nothing is left out of it.
        (" OR ".join(f"a{one} = 1 AND a{one + 1} = 2" for one in range(40)), 32, None),
        # Terms of an OR go together by the attribute that leaves most out.
        (" OR ".join(f"a{one % 3} = {one} AND a9 > {one}" for one in range(40)), 3, [{0, 9}, {1, 9}, {2, 9}]),
    ],
)  # fmt: skip
def test_a_condition_of_many_terms_is_found_by_what_leaves_most_out(where: str, terms: int, paths: Any) -> None:
    found = lower(parse(where), rookery.Schema(**{f"a{one}": int for one in range(41)}))
    assert len(found) == terms
    if paths is None:
        assert [] in [[*term.constraints] for term in found]
    else:
        assert [{int(path[0][1:]) for path in term.constraints} for term in found] == paths
    assert not any(term.exact for term in found)


def test_six_pairs_have_no_more_candidates_than_five() -> None:
    random = Random(3)
    schema = rookery.Schema(**{f"a{one}": float for one in range(20)})
    events = pa.table(
        {"event_id": range(50), **{f"a{one}": np.random.default_rng(one).random(50) for one in range(20)}}
    )
    found = []
    for pairs in (5, 6):
        matcher: Any = rookery.matcher(schema)
        for place in range(40):
            numbers = random.sample(range(20), 2 * pairs)
            tests = [f"a{number} BETWEEN {(low := 0.7 * random.random())} AND {low + 0.3}" for number in numbers]
            matcher.add(
                place, " AND ".join(f"({one} OR {other})" for one, other in zip(tests[::2], tests[1::2], strict=True))
            )
        view = matcher.compile()._view
        codes = view.space.encode(batch_of(events), {}, missing="error", on_error="raise")
        found.append(len(np.unique(view.engine.probe(codes, view.alive))))
    assert found[1] < 2 * found[0] < 400
