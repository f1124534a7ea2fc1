"""Shapes in columns: the values of many texts of one shape are read by Arrow's kernels, not text by text.

A text stands for its shape (`shapes.py`): its pieces, with a group in the place of each value, are one expression, and
a column of texts is matched against it at once. What it gives are columns of values, and of each value its comparison.

Rule 1: a text that matches has the same pieces as the one that stands for its shape, and values of the same kinds in
their places, so it is cut in the same places. The groups take less than the cut does (texts of printable ASCII without
a quote in them, numbers of so few digits that reading them as doubles or int64s is exact); what they do not take goes
the way of one text.
Rule 2: only comparisons of doubles, whole numbers and texts (`=` alone) with values are taken, no field twice where it
is a text.
Rule 3: a set of different sentences costs little more than without: after a few shapes that few texts have, no more
are sought.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.model.shapes import LONGEST_TEXT, Shapes, ShapeStep
from rookery.model.types import FloatType, IntegerType, StringType

__all__ = ["ShapeColumns", "shape_columns"]

Array = np.ndarray[Any, Any]

#: The groups: a text; a number with a point, of which the nearest double is taken; a whole number that a double or an
#: int64 holds.
_TEXT, _POINT, _FEW_DIGITS, _DIGITS = "'([ -&(-~]*)'", r"([0-9]{1,20}\.[0-9]{1,20})", "([0-9]{1,15})", "([0-9]{1,18})"
#: Shapes that few texts have, after which no more are sought; and how few, as a part of those that are left.
_MOST_RARE, _RARE = 8, 1 / 64
#: How far apart the texts are that stand for shapes: a file may begin with those of a rare one.
_STRIDE = 7919
_INEQUALITIES = ("<", "<=", ">", ">=")


class ShapeColumns(NamedTuple):
    """The texts of one shape."""

    rows: Array  # their places
    steps: list[ShapeStep]  # the comparisons
    values: list[Any]  # of each comparison: texts, doubles, or int64s, as an Arrow array


def shape_columns(texts: pa.Array, shapes: Shapes) -> list[ShapeColumns]:
    """Return the texts whose shapes are conjunctions of comparisons, by shape; none is in two."""
    short = pc.less_equal(pc.binary_length(texts), LONGEST_TEXT)
    places = np.flatnonzero(short.fill_null(False).to_numpy(zero_copy_only=False))
    found: list[ShapeColumns] = []
    rare = tried = 0
    while len(places) and rare < _MOST_RARE:
        left = texts.take(pa.array(places))
        chosen = tried * _STRIDE % len(places)
        tried += 1
        known = shapes.comparisons(left[chosen].as_py())
        pattern = None if known is None else _pattern(*known)
        matched = None if pattern is None else pc.extract_regex(left, pattern)
        if known is None or matched is None or not matched[chosen].is_valid:
            rare += 1
            places = np.delete(places, chosen)
            continue
        hit = matched.is_valid().to_numpy(zero_copy_only=False)
        rare += int(np.count_nonzero(hit) < _RARE * len(places))
        groups = matched.filter(pa.array(hit)).flatten()
        values = [
            group if isinstance(step.kind, StringType)
            else group.cast(pa.float64() if isinstance(step.kind, FloatType) else pa.int64())
            for step, group in zip(known[1], groups, strict=True)
        ]  # fmt: skip
        found.append(ShapeColumns(places[hit], known[1], values))
        places = places[~hit]
    return found


def _pattern(parts: list[str], steps: list[ShapeStep]) -> str | None:
    """Return the expression of a shape, None where one of its comparisons is of another kind."""
    texts = [step.path for step in steps if isinstance(step.kind, StringType)]
    if not steps or len(set(texts)) != len(texts):
        return None
    written = [r"\A"]
    for number, (piece, value, step) in enumerate(zip(parts[::2], parts[1::2], steps, strict=False)):
        group = _group(value, step)
        if group is None:
            return None
        written += [re.escape(piece), group.replace("(", f"(?P<v{number}>", 1)]
    return "".join([*written, re.escape(parts[-1]), r"\z"])


def _group(value: str, step: ShapeStep) -> str | None:
    kind = step.kind
    if isinstance(kind, StringType):
        return _TEXT if step.operator == "=" else None
    if step.operator != "=" and step.operator not in _INEQUALITIES:
        return None
    if isinstance(kind, FloatType) and kind.bits == 64:
        return _FEW_DIGITS if value.isdigit() else _POINT
    if isinstance(kind, IntegerType) and kind.signed and value.isdigit():
        return _DIGITS
    return None
