"""One event at a time: the answer of a batch of that one event, by way of its row instead of columns.

Rule 1: the same engine, programs and texts decide. What differs is that only what the event has is looked at: a set
that names hundreds of attributes costs an event what its own are.
Rule 2: a row that needs a text is found by each label that is TRUE or OPEN (`texts/event_texts.py`). A regular
expression is asked when a row that was found, or the program that decides it, hinges on it, and once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rookery.errors import EventError
from rookery.matching.program_kernels import ACCEPT, OPEN
from rookery.matching.texts.event_texts import EventTruths
from rookery.matching.texts.index import TEXT, Truths
from rookery.matching.texts.instances import probe_instances
from rookery.model.events import check_on_error, read_value

if TYPE_CHECKING:
    from rookery.matching.view import View

__all__ = ["match_one"]

Array = np.ndarray[Any, Any]
#: How a slot is decided whose rows are larger than the truth.
PROGRAM, BY_VALUE = 1, 2
_NOTHING = EventTruths(np.empty(0, np.int64), np.empty(0, np.int8))


def match_one(
    view: View, event: Mapping[str, Any], *, topic: str | None, time: object, on_error: str, now: object
) -> list[int]:
    """Return the slots of a view that match one event, in order."""
    check_on_error(on_error)
    stated = view.event_topic(event, topic, on_error) if topic is not None or view.topics.total else None
    codes, said = view.space.encode_usual(event, stated), _NOTHING
    if codes is None:
        event = view.with_now(event, now)
        codes, said = _coded(view, event, view.hidden_event(event, topic, time, on_error), on_error)
    slots = view.engine.probe_event(codes, view.alive)
    if len(said.labels):
        slots = _with_texts(view, codes, said, slots)
    if not view.inexact_count or not slots:
        return slots
    kept = _accepted(view, np.array(slots, np.int64), codes, said)
    return [slot for slot in kept if view.inexact[slot] != BY_VALUE or _holds(view, slot, event, on_error)]


def _coded(view: View, event: Mapping[str, Any], hidden: Mapping[str, Any], on_error: str) -> tuple[Array, EventTruths]:
    """Return the codes of an event and what its texts say.

    What only removed subscriptions named may be missing in it, or not fit.
    """
    space, texts = view.space, view.space.texts
    try:
        codes = space.encode_event(event, hidden, on_error=on_error)
        return codes, _NOTHING if texts is None else texts.of_event(event, space.attribute, on_error)
    except EventError:
        if view.live == len(view.records):
            raise
    numbers, labels = view.tested()
    codes = space.encode_event(event, hidden, on_error=on_error, tested=numbers)
    return codes, _NOTHING if texts is None else texts.of_event(event, space.attribute, on_error, labels)


def _with_texts(view: View, codes: Array, said: EventTruths, slots: list[int]) -> list[int]:
    """Return these slots and those of the rows that need a text of the event."""
    every = set(slots)
    one = np.zeros(len(said.labels), np.int64)
    number = view.space.number(TEXT.path)
    for places, found in probe_instances(
        lambda some: view.engine.probe(some, view.alive), codes, number, one, said.labels
    ):
        open_ = said.states[places] == OPEN
        every.update(found[~open_].tolist())
        for place, slot in zip(places[open_].tolist(), found[open_].tolist(), strict=True):
            # What decides an inexact slot asks for itself.
            if slot not in every and (view.inexact[slot] or said.ask(place)):
                every.add(slot)
    return sorted(every)


def _accepted(view: View, slots: Array, codes: Array, said: EventTruths) -> list[int]:
    """Return the slots whose programs do not reject the event; what one hinges on is asked, and it is tried again."""
    mine = np.flatnonzero(view.inexact[slots] == PROGRAM)
    if len(mine):
        text = view.space.known(TEXT.path)
        truths = Truths(np.array([0, len(said.labels)], np.int64), said.labels)
        kept = np.ones(len(slots), np.bool_)
        while len(mine):
            outcomes = view.programs.outcomes(
                np.zeros(len(mine), np.int64), slots[mine], codes, -1 if text is None else text, truths, said.states
            )
            kept[mine] = outcomes == ACCEPT
            mine = mine[outcomes >= 0]
            for place in set(outcomes[outcomes >= 0].tolist()):
                said.ask(place)
        slots = slots[kept]
    found: list[int] = slots.tolist()
    return found


def _holds(view: View, slot: int, event: Mapping[str, Any], on_error: str) -> bool:
    decide, attributes = view.condition(slot)
    return decide({one.path: read_value(event, one, on_error) for one in attributes}) is True
