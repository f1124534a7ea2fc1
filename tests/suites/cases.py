"""A case of a public suite, and what this language says of it.

Rule: a case is put as it stands, or as its reader's docstring says. What it names and its event lacks has the first
type with which the condition is accepted, since a JMS message or a CloudEvent declares none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any

import rookery
from rookery.errors import SubscriptionError
from rookery.model import parse
from rookery.model.dialects import translate
from rookery.model.expressions import fields_of

__all__ = ["Case", "Report", "judged"]

_KINDS = ("string", "int64", "float64", "bool", "timestamp")
#: How many types of unknown names are tried at most.
_TRIES = 700


@dataclass(frozen=True, slots=True)
class Case:
    """A condition, an event and what is due: true, false (not TRUE), unknown, valid or invalid.

    `left_out` says why a case is not run, `dialect` what it is written in.
    """

    text: str
    due: str
    event: dict[str, Any] = field(default_factory=dict)
    schema: dict[str, Any] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    left_out: str = ""
    dialect: str = "where"


@dataclass(slots=True)
class Report:
    """The counts of a suite."""

    name: str
    run: int = 0
    agreed: int = 0
    refused: list[tuple[Case, str]] = field(default_factory=list)
    differed: list[tuple[Case, str]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def line(self) -> str:
        """Return the counts in one line."""
        share = 100 * len(self.refused) / max(1, self.run)
        out = ", ".join(f"{count} {why}" for why, count in sorted(self.left_out.items())) or "none"
        return (
            f"{self.name}: {self.run} run, {self.agreed} agreed, {len(self.refused)} refused ({share:.1f} %), "
            f"{len(self.differed)} differed; left out: {out}"
        )


def judged(name: str, cases: Iterable[Case]) -> Report:
    """Put every case to the language."""
    report = Report(name)
    for case in cases:
        if case.left_out:
            report.left_out[case.left_out] += 1
            continue
        report.run += 1
        try:
            said = _said(case)
        except SubscriptionError as error:
            if case.due == "invalid":
                report.agreed += 1
            else:
                report.refused.append((case, error.message))
            continue
        agreed = (
            said == case.due or (case.due == "valid" and said != "invalid") or (case.due, said) == ("false", "unknown")
        )
        if agreed:
            report.agreed += 1
        else:
            report.differed.append((case, said))
    return report


def _said(case: Case) -> str:
    """Return true, false or unknown; SubscriptionError where no types of the unknown names are accepted."""
    known = dict(case.schema) or {name: _kind(value) for name, value in case.event.items() if value is not None}
    text = translate(case.dialect, case.text).where
    unknown = [path for path in dict.fromkeys(fields_of(parse(text))) if path[0] not in known]
    fault: SubscriptionError | None = None
    for kinds in islice(product(_KINDS, repeat=len(unknown)), _TRIES):
        types = _typed(known, zip(unknown, kinds, strict=True))
        matcher = rookery.matcher(rookery.Schema.from_dict(types))
        try:
            matcher.add("is", text, parameters=list(case.parameters) or None)
            if text:
                matcher.add("is not", f"NOT ({text})", parameters=list(case.parameters) or None)
        except SubscriptionError as error:
            fault = fault or error
            continue
        event = {name: case.event.get(name) for name in types}
        found = matcher.match(event)
        columns = {name: [value] for name, value in event.items()} | {"event_id": [1]}
        assert matcher.match_many(columns)["subscription_id"].to_pylist() == found, case
        return {"is": "true", "is not": "false"}.get(found[0] if found else "", "unknown")
    assert fault is not None
    raise fault


def _typed(known: dict[str, Any], unknown: Iterable[tuple[Any, str]]) -> dict[str, Any]:
    """Return the types of a schema in which paths have these kinds."""
    types = dict(known)
    for path, kind in unknown:
        inner = types
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = kind
    return types or {"nothing": "int64"}


def _kind(value: Any) -> Any:
    return {bool: "bool", int: "int64", float: "float64", str: "string"}[type(value)]
