"""Two-valued formulas as three-valued conditions: true of exactly the same events."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import rookery
from rookery.model import to_text
from rookery.model.dialects.logic import All, Any, Leaf, Negation, Node, condition
from rookery.model.expressions import Comparison, Field, In, IsNull, Like, Literal

SCHEMA = rookery.Schema(a=str, b=str)
VALUES = [None, "", "x", "xy", "Yx"]

fields = st.sampled_from(["a", "b"]).map(lambda name: Field((name,)))
leaves = st.one_of(
    st.builds(lambda field, text: Leaf(Comparison("=", field, Literal(text))), fields, st.sampled_from(["x", "xy"])),
    st.builds(lambda field: Leaf(In(field, (Literal("x"), Literal("Yx")))), fields),
    st.builds(
        lambda field, text: Leaf(Like(field, Literal(text), word="ILIKE")), fields, st.sampled_from(["%x", "y%", "x"])
    ),
    st.builds(lambda field, negated: Leaf(IsNull(field, negated), decided=True), fields, st.booleans()),
)
formulas: st.SearchStrategy[Node] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(All), st.lists(inner, max_size=3).map(Any), inner.map(Negation)
    ),
    max_leaves=8,
)


def holds(node: Node, event: Mapping[str, str | None]) -> bool:
    """Decide a formula as its dialect means it: a predicate on a missing field is false."""
    match node:
        case All(parts):
            return all(holds(part, event) for part in parts)
        case Any(parts):
            return any(holds(part, event) for part in parts)
        case Negation(part):
            return not holds(part, event)
        case Leaf(Comparison(_, Field((name,)), Literal(text))):
            return event[name] == text
        case Leaf(In(Field((name,)), values)):
            return event[name] in [one.value for one in values]  # type: ignore[union-attr]
        case Leaf(IsNull(Field((name,)), negated)):
            return (event[name] is None) != negated
        case Leaf(Like(Field((name,)), Literal(pattern))):
            text, bare = event[name], str(pattern).strip("%").lower()
            if text is None:
                return False
            text = text.lower()
            if str(pattern).startswith("%"):
                return text.endswith(bare)
            return text.startswith(bare) if str(pattern).endswith("%") else text == bare
    raise TypeError(node)


@given(st.lists(formulas, min_size=1, max_size=6))
def test_a_condition_is_true_where_its_formula_holds(nodes: list[Node]) -> None:
    events = [{"a": a, "b": b} for a in VALUES for b in VALUES]
    matcher = rookery.matcher(SCHEMA)
    for place, node in enumerate(nodes):
        matcher.add(place, to_text(condition(node)))
    table = pa.table({"event_id": range(len(events)), **{n: [e[n] for e in events] for n in ("a", "b")}})
    found = {(row["event_id"], row["subscription_id"]) for row in matcher.match_many(table).to_pylist()}
    assert found == {
        (row, place) for row, event in enumerate(events) for place, node in enumerate(nodes) if holds(node, event)
    }
