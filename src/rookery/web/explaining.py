"""Why an event matched some subscriptions and not others: asked of the product's own matcher, when a page asks.

The subscriptions and the schema are records of the run, so a replay explains by the rules that were in force at its
position. The set is read when somebody first asks and again after an edit.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rookery.errors import EventError, RookeryError, RunError
from rookery.web import records
from rookery.web.state import RunState

__all__ = ["ROWS", "Explainer"]

#: Rows of one explanation: those that match first, then others in the order of the set.
ROWS = 200


class Explainer:
    """Compiled sets by topic, for one state at a time."""

    def __init__(self) -> None:
        self._of: tuple[RunState, int] | None = None
        self._sets: dict[str, tuple[Any, list[Any]]] = {}

    def explain(self, state: RunState, event_id: str) -> records.ExplanationRecord:
        """Explain an event that is remembered; raise `RunError` if it cannot be."""
        known = state.explanations.get(event_id)
        if known is not None:
            return known
        event = state.event(event_id)
        if event is None:
            raise RunError(f"event {event_id} is not among those that are remembered")
        if not event.values:
            raise RunError(f"event {event_id} was recorded without its values")
        matcher, ids = self._matcher(state, event.topic)
        try:
            matched = matcher.match(event.values, time=event.time)
            chosen = list(dict.fromkeys([*matched, *ids]))
            rows = tuple(
                msgspec.convert(matcher.explain(one, event.values, time=event.time).to_dict(), records.Row)
                for one in chosen[:ROWS]
            )
        except EventError as error:
            raise RunError(f"event {event_id} does not fit its schema: {error}") from error
        made = records.ExplanationRecord(at=event.at, event=event_id, rows=rows, total=len(chosen))
        read = records.decode(records.encode(made))  # as a reader of a file would have it: dates and decimals as text
        assert isinstance(read, records.ExplanationRecord)
        return read

    def _matcher(self, state: RunState, topic: str) -> tuple[Any, list[Any]]:
        if self._of is None or self._of[0] is not state or self._of[1] != state.rules_revision:
            self._of, self._sets = (state, state.rules_revision), {}
        if topic not in self._sets:
            self._sets[topic] = _compile(state, topic)
        return self._sets[topic]


def _compile(state: RunState, topic: str) -> tuple[Any, list[Any]]:
    import pyarrow as pa

    from rookery.matching import matcher
    from rookery.model import Schema

    schema = state.schemas.get(topic)
    if schema is None:
        raise RunError(f"the run has no schema of topic {topic!r}" if topic else "the run has no schema")
    rules = [one for (of, _, _), one in list(state.subscriptions.items()) if of == topic]
    texts = any(isinstance(one.id, str) for one in rules)
    columns: dict[str, list[Any]] = {
        "subscription_id": [str(one.id) if texts else one.id for one in rules],
        "where": [one.where for one in rules],
        "version": [one.version for one in rules],
    }
    for name in ("valid_from", "valid_to"):
        if any(getattr(one, name) is not None for one in rules):
            columns[name] = [getattr(one, name) for one in rules]
    try:
        compiled: Any = matcher(Schema.from_dict(schema.attributes), on_error="quarantine")
        if rules:
            compiled.add_many(pa.table(columns))
    except RookeryError as error:
        raise RunError(f"the run's schema or subscriptions cannot be read: {error}") from error
    return compiled, [one for one in dict.fromkeys(columns["subscription_id"]) if one in compiled]
