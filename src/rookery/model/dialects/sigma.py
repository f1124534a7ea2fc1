"""Sigma: detection rules in YAML, one rule a text (specification 2.x).

A rule has named selections, which are maps (all lines hold), lists of maps (one holds) or lists of keywords, and a
condition over their names. `sigma_values.py` reads a line of a selection, `sigma_conditions.py` the condition,
`log_sources.py` what the log source asks of an event.

pySigma's parser was tried and left out: it brings five packages and resolves what a back end would want (pipelines,
placeholders, expressions for query texts), of which nothing is used here; the part of Sigma that a condition on one
event can say is these four files.
"""

from __future__ import annotations

from typing import Any as AnyValue

from rookery.errors import SubscriptionError
from rookery.extras import need
from rookery.model.dialects.log_sources import origin
from rookery.model.dialects.logic import All, Any, Node, condition
from rookery.model.dialects.sigma_conditions import formula
from rookery.model.dialects.sigma_values import item
from rookery.model.dialects.translation import Translation
from rookery.model.expressions import to_text

__all__ = ["read_sigma"]

#: What alerts want to say of a rule.
_COLUMNS = ("title", "level", "status", "author")
_NO_SELECTIONS = ("condition", "timeframe")


def read_sigma(text: str) -> Translation:
    """Return one rule as a condition."""
    document, lines = _document(text)
    detection = document.get("detection")
    if not isinstance(detection, dict) or "condition" not in detection:
        what = "correlates other rules" if "correlation" in document else "has no detection with a condition"
        raise SubscriptionError(f"the rule {what}")
    try:
        named: dict[str, Node] = {}
        for name, one in detection.items():
            if name not in _NO_SELECTIONS:
                place = f"detection/{name}"
                named[str(name)] = _selection(one)
        place = "detection/condition"
        given = detection["condition"]
        wanted = [formula(str(one), named) for one in (given if isinstance(given, list) else [given])]
    except SubscriptionError as error:
        raise SubscriptionError(f"line {lines.get(place, 1)}: {error.message}", hint=error.hint) from None
    source = document.get("logsource")
    whole = All([origin(source if isinstance(source, dict) else {}), Any(wanted)])
    columns = {name: None if document.get(name) is None else str(document[name]) for name in _COLUMNS}
    rule_id = document.get("id")
    return Translation(
        to_text(condition(whole)),
        None if rule_id is None else str(rule_id),
        columns,
        lines.get("detection/condition"),
    )


def _selection(given: AnyValue) -> Node:
    if isinstance(given, dict):
        if not given:
            raise SubscriptionError("the selection is empty")
        return All([item(str(name), value) for name, value in given.items()])
    if isinstance(given, list):
        if not given:
            raise SubscriptionError("the selection is empty")
        plain = [one for one in given if not isinstance(one, dict)]
        parts = [_selection(one) for one in given if isinstance(one, dict)]
        return Any([*([item("", plain)] if plain else []), *parts])
    if given is None:
        raise SubscriptionError("the selection is empty")
    return item("", given)


def _document(text: str) -> tuple[dict[str, AnyValue], dict[str, int]]:
    """Return a rule and the lines of its selections."""
    need("yaml", "a Sigma rule, which is YAML,", extra="sigma")
    import yaml

    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        try:
            node = loader.get_single_node()
            document = None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f"line {mark.line + 1}: "
        raise SubscriptionError(f"{where}cannot be read as YAML: {getattr(error, 'problem', None) or error}") from None
    if not isinstance(document, dict):
        raise SubscriptionError("a rule is a map of YAML with a detection")
    lines: dict[str, int] = {}
    _mark(node, "", lines)
    return document, lines


def _mark(node: AnyValue, place: str, lines: dict[str, int]) -> None:
    """Note the lines of a map's keys, and refuse a key that stands twice: YAML would keep one of them in silence."""
    if not isinstance(getattr(node, "value", None), list) or getattr(node, "id", "") != "mapping":
        return
    seen = set()
    for key, value in node.value:
        name = f"{place}{key.value}"
        if name in seen:
            raise SubscriptionError(f"line {key.start_mark.line + 1}: {key.value!r} stands twice")
        seen.add(name)
        lines[name] = key.start_mark.line + 1
        if name.count("/") < 3 and name.startswith("detection"):
            _mark(value, f"{name}/", lines)
