"""Lint: what is wrong with a whole set of subscriptions, beyond what is wrong with each.

Every finding carries its proof or its witness, and none is a guess:

- `fault`: it does not compile; the reason is the proof.
- `never`: no event can satisfy it; the predicates that exclude each other are the proof.
- `always`: every event satisfies it, as `TRUE` does.
- `duplicate`: it asks for the same values as one before it.
- `covered`: every event that it wants, another wants too (`covers`); the witness is an event that both match.
- `unseen`: it needs a field that no event has.
- `cost`: a regular expression in which no literal can be sought first, so that it runs over the text of every event.

What cannot be decided (a condition on computed values, patterns that only a search could compare) is left out: lint may
find less than there is, never more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import EventError, SubscriptionError
from rookery.matching import Matcher, matcher
from rookery.matching.witnesses import witness
from rookery.model.expressions import And, Expression, field_text, fields_of, to_text
from rookery.model.lower import Term, lower
from rookery.model.parser import parse
from rookery.model.regexes import required_literals
from rookery.model.relations import covers
from rookery.model.schema import Schema
from rookery.model.subscriptions import INSTANT, Record
from rookery.model.tables import checked_subscriptions
from rookery.model.texts import text_leaves

__all__ = ["KINDS", "LintFinding", "lint"]

#: The kinds of findings, the gravest first.
KINDS = ("fault", "never", "duplicate", "covered", "always", "unseen", "cost")
#: Subscriptions that match one witness and are asked whether they cover it: broad sets have thousands.
_MOST_ASKED = 100
#: Texts on which the cost of a pattern is measured.
_SAMPLE = pa.array(["the quick brown fox, C:\\Windows\\System32\\cmd.exe /c 10.0.0.1 " * 3] * 256)


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One thing that is wrong."""

    kind: str
    subscription_id: str | int | None
    message: str
    #: The other subscription, of a duplicate or one that is covered.
    other: str | int | None = None
    #: An event that shows it.
    witness: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _Subscription:
    record: Record
    expression: Expression
    terms: list[Term]


def lint(
    table: pa.Table, schema: Schema, *, fields: Collection[str] | None = None, clock: Callable[[], float] | None = None
) -> list[LintFinding]:
    """Return what is wrong with a table of subscriptions (`read_subscriptions`), in its order within each kind.

    `fields` are the names that events have, where they are known; `clock` counts seconds of CPU, for what patterns
    cost.
    """
    found: list[LintFinding] = []
    good: list[_Subscription] = []
    rules = matcher(schema, on_error="quarantine")
    assert isinstance(rules, Matcher)
    rules.add_many(table)
    for fault in rules.quarantined:
        found.append(LintFinding("fault", fault.subscription_id, fault.message))  # type: ignore[arg-type]
    for record in checked_subscriptions(table):
        if isinstance(record, SubscriptionError) or record.where is None:
            continue
        if record.subscription_id in rules:  # what is refused is among the faults
            expression = parse(record.where)
            good.append(_Subscription(record, expression, lower(expression, schema, record.parameters)))
    for one in good:
        found += _alone(one, schema, fields, clock)
    found += _among(good, schema, rules)
    order = {kind: place for place, kind in enumerate(KINDS)}
    return sorted(found, key=lambda finding: order[finding.kind])


def _alone(
    one: _Subscription, schema: Schema, fields: Collection[str] | None, clock: Callable[[], float] | None
) -> Iterator[LintFinding]:
    name = one.record.subscription_id
    if not one.terms:
        core = _conflict(one, schema)
        yield LintFinding("never", name, f"no event can satisfy {core}")
    if any(not term.constraints and not term.texts and term.exact for term in one.terms):
        yield LintFinding("always", name, "every event satisfies it", witness={})
    if fields is not None:
        for path in dict.fromkeys(fields_of(one.expression)):
            if str(path[0]) not in fields and field_text(path) not in fields:
                yield LintFinding("unseen", name, f"no event has the field {field_text(path)}")
    patterns = {
        leaf.pattern
        for term in one.terms
        for key, _ in term.texts
        for leaf in text_leaves(key)
        if leaf.kind == "regex" and not required_literals(leaf.pattern)[0]
    }
    for pattern in sorted(patterns):
        yield LintFinding("cost", name, f"{pattern!r} has no literal to seek first{_cost(pattern, clock)}")


def _cost(pattern: str, clock: Callable[[], float] | None) -> str:
    if clock is None:
        return ""
    started = clock()
    pc.match_substring_regex(_SAMPLE, pattern)
    return f": {(clock() - started) / len(_SAMPLE) * 1e6:.1f} µs an event"


def _conflict(one: _Subscription, schema: Schema) -> str:
    """Return the operands of an AND that exclude each other already: none can be left out."""
    if not isinstance(one.expression, And):
        return to_text(one.expression)
    kept = list(one.expression.operands)
    for operand in one.expression.operands:
        rest = [part for part in kept if part is not operand]
        if rest and not lower(And(tuple(rest)) if len(rest) > 1 else rest[0], schema, one.record.parameters):
            kept = rest
    return to_text(And(tuple(kept)) if len(kept) > 1 else kept[0])


def _among(good: list[_Subscription], schema: Schema, rules: Matcher) -> Iterator[LintFinding]:
    """Yield duplicates and those that are covered; a witness finds whom to ask."""
    by_name: dict[Any, list[_Subscription]] = {}
    first: dict[Any, Any] = {}
    doubled = set()
    for one in good:
        by_name.setdefault(one.record.subscription_id, []).append(one)
    for one in good:
        name = one.record.subscription_id
        if not one.terms or len(by_name[name]) > 1:  # versions of one subscription are no duplicates
            continue
        key = _meaning(one)
        if key is not None and key in first:
            doubled.add(name)
            yield LintFinding("duplicate", name, f"asks for the same as {first[key]!r}", first[key])
        elif key is not None:
            first[key] = name
    for one in good:
        name = one.record.subscription_id
        if not one.terms or name in doubled or len(by_name[name]) > 1:
            continue
        event = witness(one.terms, schema)
        matched = [] if event is None else _matched(rules, one.record, event)
        if name not in matched:
            continue
        for other in [candidate for candidate in matched if candidate != name][:_MOST_ASKED]:
            wide = by_name.get(other, [])
            if other in doubled or len(wide) != 1 or not _is_wider(wide[0].record, one.record):
                continue
            where, narrow = wide[0].record.where or "", one.record.where or ""
            if covers(
                where, narrow, schema,
                wide_parameters=wide[0].record.parameters, narrow_parameters=one.record.parameters,
            ):  # fmt: skip
                yield LintFinding("covered", name, f"{other!r} wants every event that it wants", other, event)
                break


def _meaning(one: _Subscription) -> Any:
    """Return what two duplicates have in common; None where the terms say more than the condition."""
    if not all(term.exact for term in one.terms):
        return None
    terms = frozenset((frozenset(term.constraints.items()), term.texts) for term in one.terms)
    record = one.record
    return terms, record.topic, record.subscriber, record.valid_from, record.valid_to


def _is_wider(wide: Record, narrow: Record) -> bool:
    """Say whether one stands wherever and whenever the other does, for the same subscriber."""
    begins = wide.valid_from is None or (narrow.valid_from is not None and wide.valid_from <= narrow.valid_from)
    ends = wide.valid_to is None or (narrow.valid_to is not None and wide.valid_to >= narrow.valid_to)
    return begins and ends and wide.topic in (None, narrow.topic) and wide.subscriber == narrow.subscriber


def _matched(rules: Matcher, record: Record, event: dict[str, Any]) -> list[Any]:
    moment = record.valid_from if record.valid_from is not None else record.valid_to
    if moment is not None and record.valid_from is None:
        moment -= 1
    time_of = None if moment is None else pa.scalar(moment, INSTANT).as_py()
    try:
        return list(rules.match(event, topic=record.topic, time=time_of))
    except (EventError, ValueError):
        return []
