"""What a dialect makes of one rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Translation"]


@dataclass(frozen=True, slots=True)
class Translation:
    """A condition, and what else the rule says of itself."""

    where: str
    #: The rule's own id, None where the table must name it.
    subscription_id: str | None = None
    #: Columns of the rule for its alerts: title, level, …
    columns: Mapping[str, str | None] = field(default_factory=dict)
    #: The line of the rule's text where its condition is.
    line: int | None = None
