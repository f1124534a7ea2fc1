"""The words of the grammar: which of them some conditions use, and conditions that use them all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random

from .forms import Form, FormWriter

__all__ = ["DUCKDB_ALONE", "covering", "unused"]

WORDS = [
    "AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "ESCAPE", "IS NULL", "IS NOT NULL",
    "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "TRUE", "FALSE", "TIMESTAMP '", "DATE '", "<=>", "==", "!=",
    "<>", "||", " + ", " - ", " * ", " / ", " % ", "--", "/*", "`", "%0", "[0]", ".X", "NOT BETWEEN", "NOT IN",
    "NOT LIKE", "IN CIDR '", "IN CIDR (", "NOT IN CIDR",
    "ANY(TAGS)", "ANY(TAGS,", "ANY(ITEMS.PRICE)", "ANY(ITEMS,", "EXISTS(", "ARRAY_CONTAINS(", "SIZE(", "PROPS['",
    ":P00", "INTERVAL '", "INTERVAL 1", "MONTHS", "NOW()", "CURRENT_TIMESTAMP()", "LEVEL <", "LEVEL BETWEEN", "'WEEK'",
    "'QUARTER'", "ANY(CODES)", "ANY(CODES,", '"ODD NAME"', "ITEMS[0].PRICE", "ITEMS[1].NAME", "PROPS.EU", "WEEKS",
    "YEARS", "MICROSECONDS", ".5 HOURS'", "+02:00'", "LCASE(", "UCASE(", "CHAR_LENGTH(", "CEILING(", "SUBSTR(",
    "STARTSWITH(", "ENDSWITH(", "5 / 0 = 1",
]  # fmt: skip
#: What Spark SQL has no words for.
DUCKDB_ALONE = {"IN CIDR '", "IN CIDR (", "NOT IN CIDR", "LEVEL BETWEEN", "address"}


def unused(forms: Iterable[Form], functions: Iterable[str]) -> set[str]:
    """Return the words, and those of some functions, that no condition uses."""
    text = "\n".join(one.text for one in forms).upper()
    called = {name.lower() for name in re.findall(r"(\w+)\(", text)}
    return {word for word in WORDS if word not in text} | {*functions} - called


def covering(seed: int, count: int, functions: Iterable[str], *, plain: bool) -> list[Form]:
    """Return so many conditions written at random, first those that bring a new word."""
    writers = [FormWriter(Random(seed + place), plain=plain, pool=400) for place in range(4)]
    forms = [writer.condition() for writer in writers for _ in range(2_000)]
    functions = [*functions]
    left, chosen, others = unused([], functions), [], []
    for one in forms:
        found = left - unused([one], functions)
        left -= found
        (chosen if found else others).append(one)
    return [*chosen, *others][:count]
