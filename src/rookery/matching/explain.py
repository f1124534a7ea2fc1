"""Why did it (not) match? Each predicate of a subscription with the event's value and the verdict.

The explanation is made by the oracle (`model.evaluate`) on the text as written, so it cannot share a mistake with an
engine. A subscription that was given as a box is explained by its bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from typing import TYPE_CHECKING, Any

from rookery.errors import EventError, UnknownSubscriptionError
from rookery.matching.timeline import Dating, deciding_times
from rookery.matching.times import event_time
from rookery.model.check import Checker
from rookery.model.evaluate import condition
from rookery.model.events import check_on_error, read_value
from rookery.model.expressions import And, Constant, Expression, Not, Or, timestamp_text, to_text
from rookery.model.parser import parse
from rookery.model.schema import Attribute
from rookery.model.types import TimestampType

if TYPE_CHECKING:
    from rookery.matching.view import View

__all__ = ["Explanation", "Finding", "explain"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One predicate: its text, what it says (None = UNKNOWN), the event's values, and whether it decided."""

    text: str
    verdict: bool | None
    values: dict[str, Any]
    depth: int
    decided: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a subscription says of an event, and why."""

    subscription_id: str | int
    version: int
    matched: bool
    reason: str
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        verb = "matches" if self.matched else "does not match"
        lines = [f"{self.subscription_id!r} version {self.version} {verb}: {self.reason}"]
        width = max((len(one.text) + 2 * one.depth for one in self.findings), default=0)
        for one in self.findings:
            word = {True: "true", False: "false", None: "unknown"}[one.verdict]
            values = ", ".join(
                f"{name} is {'NULL' if value is None else repr(value)}" for name, value in one.values.items()
            )
            mark = "  <- decides" if one.decided else ""
            lines.append(f"  {'  ' * one.depth + one.text:<{width}}  {word:<7}  {values}{mark}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the same lines for a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain data."""
        return {
            "subscription_id": self.subscription_id,
            "version": self.version,
            "matched": self.matched,
            "reason": self.reason,
            "predicates": [
                {
                    "text": one.text,
                    "verdict": one.verdict,
                    "values": one.values,
                    "depth": one.depth,
                    "decided": one.decided,
                }
                for one in self.findings
            ],
        }


def explain(
    view: View,
    subscription_id: str | int,
    event: Mapping[str, Any],
    *,
    topic: str | None,
    time: object,
    version: int | None,
    on_error: str = "raise",
) -> Explanation:
    """Explain one subscription against one event; of several versions, the one that decides at the event's time."""
    records = view.records
    family = [records[slot] for slot in view.slots_of(subscription_id)]
    check_on_error(on_error)
    dated = any(record.dated for record in family)
    at = event_time(time, on_error) if dated else None
    if time is None and dated:
        raise EventError(f"{subscription_id!r} has effective dates; give the event's time: time=")
    times = deciding_times([Dating(one.version, one.valid_from, one.valid_to) for one in family])
    deciding = [
        one
        for one in family
        if (held := times[one.version]) is None or (at is not None and any(low <= at <= high for low, high in held))
    ]
    if version is not None:
        chosen = [one for one in family if one.version == version]
        if not chosen:
            raise UnknownSubscriptionError(f"subscription {subscription_id!r} has no version {version}")
    else:
        chosen = deciding or family[-1:]
    record = chosen[0]
    if record not in deciding:
        when = "at no time" if at is None else f"at {_instant(at)}"
        return Explanation(subscription_id, record.version, False, f"this version is not in effect {when}", ())
    own = view.event_topic(event, topic, on_error)
    if record.topic is not None and record.topic != own:
        reason = f"it listens to topic {record.topic!r}, and the event is of {'NULL' if own is None else repr(own)}"
        return Explanation(subscription_id, record.version, False, reason, ())
    if record.where is None:
        matched = subscription_id in {
            records[slot].subscription_id for slot in view.match_event(event, topic=topic, time=time, on_error=on_error)
        }
        return Explanation(subscription_id, record.version, matched, "it was given as a box, without text", ())
    expression = parse(record.where)
    findings: list[Finding] = []
    verdict = _walk(_Read(view, event, record.parameters, on_error), expression, 0, findings, True)
    if isinstance(expression, Constant):
        reason = "its filter is empty" if not record.where.strip() else f"its filter is {to_text(expression)}"
    else:
        reason = {True: "its condition is true", False: "its condition is false", None: "its condition is unknown"}[
            verdict
        ]
    return Explanation(subscription_id, record.version, verdict is True, reason, tuple(findings))


def _instant(microseconds: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).isoformat()


@dataclass(frozen=True, slots=True)
class _Read:
    """The event that is explained, and how its values are read."""

    view: View
    event: Mapping[str, Any]
    parameters: Any
    on_error: str

    def verdict(self, node: Expression) -> bool | None:
        row = {one.path: read_value(self.event, one, self.on_error) for one in self.attributes(node)}
        return condition(node, self.view.space.schema, self.parameters)(row)

    def attributes(self, node: Expression) -> list[Attribute]:
        """Return what a condition reads."""
        return Checker(self.view.space.schema, self.parameters).reads(node)


def _shown(kind: Any, value: Any) -> Any:
    """Return a value as a person reads it."""
    if isinstance(value, list):
        return [_shown(kind.item, one) for one in value]
    return timestamp_text(value) if value is not None and isinstance(kind, TimestampType) else value


def _walk(read: _Read, node: Expression, depth: int, findings: list[Finding], decides: bool) -> bool | None:
    """Add the findings of a node and of what it is made of; return its verdict."""
    verdict = read.verdict(node)
    if isinstance(node, And | Or):
        verdicts = [read.verdict(operand) for operand in node.operands]
        # What decides: the first operand that has the node's own verdict, or all of them where all had to agree.
        needs_all = verdict is isinstance(node, And)
        first = next((place for place, one in enumerate(verdicts) if one is verdict), 0)
        if depth:
            findings.append(Finding("all of" if isinstance(node, And) else "any of", verdict, {}, depth - 1, False))
        for place, operand in enumerate(node.operands):
            _walk(read, operand, depth + 1, findings, decides and (needs_all or place == first))
        return verdict
    if isinstance(node, Not):
        findings.append(Finding("NOT", verdict, {}, max(0, depth - 1), False))
        _walk(read, node.operand, depth + 1, findings, decides)
        return verdict
    values = {}
    for one in read.attributes(node):
        values[one.text] = _shown(one.type, read_value(read.event, one, read.on_error))
    findings.append(Finding(to_text(node), verdict, values, max(0, depth - 1), decides))
    return verdict
