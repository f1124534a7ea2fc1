"""Dialects: rule sets that people have already, read into conditions of the one language.

Rule 1: a dialect is a reader. It turns one rule into a WHERE clause and the columns that its alerts want; from there on
nothing knows where the clause came from. There is no second engine and no second meaning.
Rule 2: exact or refused. What a condition cannot say is a `SubscriptionError` with the reason and the line.
Rule 3: a dialect whose logic has two values says so in its clauses: where a predicate stands under a NOT, "the field is
missing" is written out, so that three-valued logic gives the answer that the dialect means.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

from rookery.errors import SubscriptionError
from rookery.model.dialects.cesql import read_cesql
from rookery.model.dialects.event_patterns import read_event_pattern
from rookery.model.dialects.jms import read_jms
from rookery.model.dialects.sigma import read_sigma
from rookery.model.dialects.translation import Translation

__all__ = ["DIALECTS", "Translation", "translate"]

#: The readers by name; `where` is the language itself.
DIALECTS: dict[str, Callable[[str], Translation]] = {
    "where": Translation,
    "sigma": read_sigma,
    "eventbridge": read_event_pattern,
    "jms": read_jms,
    "cesql": read_cesql,
}


def translate(dialect: str, text: str) -> Translation:
    """Return one rule of a dialect as a condition; SubscriptionError says what it cannot say and where."""
    reader = DIALECTS.get(dialect)
    if reader is None:
        near = get_close_matches(dialect, DIALECTS, n=1)
        raise SubscriptionError(
            f"no such dialect: {dialect!r}",
            hint=f"did you mean {near[0]!r}?" if near else f"one of {', '.join(DIALECTS)}",
        )
    return reader(text)
