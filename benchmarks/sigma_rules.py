"""A small converter of Sigma's process_creation rules to conditions, and to plain Python over the same events.

It takes what is said with fields, lists, `contains`, `startswith`, `endswith`, `all`, `re`, wildcards and conditions of
names, `1 of`, `all of`, AND, OR, NOT. The rest is counted as not expressed. Texts are compared without case, as Sigma
has it.
"""

from __future__ import annotations

import fnmatch
import gzip
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Rule", "command_lines", "read_rules"]

Decide = Callable[[Mapping[str, str]], bool]


class Rule(NamedTuple):
    """One rule: its condition in the language, and as a function of an event with lower-case texts."""

    where: str
    decide: Decide
    patterns: int
    fields: frozenset[str]


class _CannotError(Exception):
    """The converter does not know this."""


def read_rules(folder: Path) -> tuple[list[Rule], int]:
    """Return the rules that can be expressed, and how many there are."""
    import yaml

    found, total = [], 0
    with gzip.open(folder / "rules.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            rule = yaml.safe_load(json.loads(line)["yaml"])
            if (rule.get("logsource") or {}).get("category") != "process_creation":
                continue
            total += 1
            try:
                found.append(_rule(rule["detection"]))
            except _CannotError:
                continue
    return found, total


def command_lines(folder: Path) -> list[dict[str, str]]:
    """Return the process creations among the recorded events, as flat texts."""
    found = []
    with gzip.open(folder / "events.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            for event in json.loads(line)["events"]:
                data = (event.get("Event") or {}).get("EventData") or {}
                if "CommandLine" in data:
                    found.append({name: str(value) for name, value in data.items() if value is not None})
    return found


def _rule(detection: dict[str, Any]) -> Rule:
    counter = [0]
    fields: set[str] = set()
    named = {name: _selection(one, counter, fields) for name, one in detection.items() if name != "condition"}
    condition = detection["condition"]
    if not isinstance(condition, str):
        raise _CannotError
    tokens = re.findall(r"\(|\)|[^\s()]+", condition)
    where, decide, end = _or(tokens, 0, named)
    if end != len(tokens):
        raise _CannotError
    return Rule(where, decide, counter[0], frozenset(fields))


Pair = tuple[str, Decide]


def _join(word: str, parts: list[Pair]) -> Pair:
    if len(parts) == 1:
        return parts[0]
    decides = [decide for _, decide in parts]
    test = all if word == "AND" else any
    return "(" + f" {word} ".join(text for text, _ in parts) + ")", lambda event: test(one(event) for one in decides)


def _selection(one: Any, counter: list[int], fields: set[str]) -> Pair:
    if isinstance(one, list):
        if not all(isinstance(part, dict) for part in one):
            raise _CannotError
        return _join("OR", [_selection(part, counter, fields) for part in one])
    if not isinstance(one, dict) or not one:
        raise _CannotError
    return _join("AND", [_item(name, value, counter, fields) for name, value in one.items()])


def _item(name: str, value: Any, counter: list[int], fields: set[str]) -> Pair:
    field, *modifiers = name.split("|")
    every = "all" in modifiers
    kinds = [one for one in modifiers if one not in ("all", "windash")]
    if len(kinds) > 1 or (kinds and kinds[0] not in ("contains", "startswith", "endswith", "re")):
        raise _CannotError
    if "windash" in modifiers or not re.fullmatch(r"[A-Za-z_]\w*", field):
        raise _CannotError
    fields.add(field)
    values = value if isinstance(value, list) else [value]
    parts = [_value(field, kinds[0] if kinds else "", one, counter) for one in values]
    return _join("AND" if every else "OR", parts)


def _value(field: str, kind: str, value: Any, counter: list[int]) -> Pair:
    if value is None:
        return f"{field} IS NULL", lambda event: field not in event
    counter[0] += 1
    text = str(value)
    if kind == "re":
        try:
            pattern = re.compile(text.lower())
        except re.error:
            raise _CannotError from None
        quoted = text.lower().replace("'", "''")
        return f"{field} RLIKE '(?i){quoted}'", lambda event: pattern.search(event.get(field, "\0")) is not None
    plain = text.replace("\\*", "").replace("\\?", "")
    wild = "*" in plain or "?" in plain
    pattern_text = re.sub(r"([%_!])", r"!\1", text.replace("'", "''"))
    pattern_text = pattern_text.replace("*", "%").replace("?", "_") if wild else pattern_text
    before, after = (
        ("%" if kind in ("contains", "endswith") else ""),
        ("%" if kind in ("contains", "startswith") else ""),
    )
    where = f"{field} ILIKE '{before}{pattern_text}{after}' ESCAPE '!'"
    low = text.lower()
    decide: Decide
    if wild:
        shape = re.compile(
            fnmatch.translate(("*" if before else "") + low.replace("[", "[[]") + ("*" if after else ""))
        )
        decide = lambda event: shape.match(event.get(field, "\0")) is not None  # noqa: E731
    elif kind == "contains":
        decide = lambda event: low in event.get(field, "\0")  # noqa: E731
    elif kind == "startswith":
        decide = lambda event: event.get(field, "\0").startswith(low)  # noqa: E731
    elif kind == "endswith":
        decide = lambda event: event.get(field, "\0").endswith(low)  # noqa: E731
    else:
        decide = lambda event: event.get(field, "\0") == low  # noqa: E731
    return where, decide


def _or(tokens: list[str], at: int, named: dict[str, Pair]) -> tuple[str, Decide, int]:
    parts = []
    while True:
        where, decide, at = _and(tokens, at, named)
        parts.append((where, decide))
        if at >= len(tokens) or tokens[at].lower() != "or":
            return *_join("OR", parts), at
        at += 1


def _and(tokens: list[str], at: int, named: dict[str, Pair]) -> tuple[str, Decide, int]:
    parts = []
    while True:
        where, decide, at = _not(tokens, at, named)
        parts.append((where, decide))
        if at >= len(tokens) or tokens[at].lower() != "and":
            return *_join("AND", parts), at
        at += 1


def _not(tokens: list[str], at: int, named: dict[str, Pair]) -> tuple[str, Decide, int]:
    token = tokens[at].lower() if at < len(tokens) else ""
    if token == "not":
        where, decide, at = _not(tokens, at + 1, named)
        return f"NOT {where}", lambda event: not decide(event), at
    if token == "(":
        where, decide, at = _or(tokens, at + 1, named)
        if at >= len(tokens) or tokens[at] != ")":
            raise _CannotError
        return f"({where})", decide, at + 1
    if token in ("1", "all") and at + 2 < len(tokens) and tokens[at + 1].lower() == "of":
        wanted = "*" if tokens[at + 2] == "them" else tokens[at + 2]
        parts = [one for name, one in named.items() if fnmatch.fnmatchcase(name, wanted)]
        if not parts:
            raise _CannotError
        return *_join("OR" if token == "1" else "AND", parts), at + 3
    if at < len(tokens) and tokens[at] in named:
        return *named[tokens[at]], at + 1
    raise _CannotError
