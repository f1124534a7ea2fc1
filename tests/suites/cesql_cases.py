"""CESQL: the cases of the CloudEvents project's own test suite (`tck/*.yaml`), written in this language.

A small converter, token by token: strings in either quotes, names in lower case, EXISTS, XOR, LIKE with its backslash,
CONCAT, CONCAT_WS, LEFT, RIGHT, and two minus signs, which are a comment here. A case that asks for a value asks here
whether the value is that one. An error of CESQL is due as no match. Casts, given (INT, BOOL, STRING) or implied, are
left out as type coercion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from .cases import Case

__all__ = ["read_cesql", "to_language"]

_TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\d+|\w+|<=|>=|<>|!=|\s+|.""", re.DOTALL)
_EVENT = {"specversion": "1.0", "id": "an id", "source": "a source", "type": "a type"}
_WORDS = {"AND", "OR", "NOT", "IN", "LIKE", "TRUE", "FALSE", "EXISTS", "XOR"}
_COERCED = re.compile(r"coercion|cohercion|casting|cast |hops", re.IGNORECASE)


def read_cesql(folder: Path) -> Iterator[Case]:
    """Return the cases of a folder of YAML files, or of a checkout that has one named `tck`."""
    files = sorted(folder.glob("*.yaml")) or sorted(folder.rglob("tck/*.yaml"))
    for path in files:
        for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]:
            yield _case(test, path.stem)


def _case(test: dict[str, Any], suite: str) -> Case:
    event = dict(test.get("event") or _EVENT | (test.get("eventOverrides") or {}))
    event = {name: str(value) if isinstance(value, datetime) else value for name, value in event.items()}
    text, error = str(test["expression"]), test.get("error")
    if error in ("parse", "missingFunction"):
        return Case(text, "invalid", event)
    result = test.get("result")
    left_out = ""
    if suite == "casting_functions" or error == "cast" or _COERCED.search(str(test["name"])) or _is_coerced(text):
        left_out = "type coercion"
    written = to_language(text)
    due = "true" if result is True else "false"
    if not isinstance(result, bool) and result is not None:
        shown = "'" + result.replace("'", "''") + "'" if isinstance(result, str) else str(result)
        written, due = f"({written}) = {shown}", "true"
    return Case(written, "false" if error else due, event, left_out=left_out)


def _is_coerced(text: str) -> bool:
    """Say whether an operator takes a literal of another kind than its own."""
    return bool(re.search(r"^-+(TRUE|')|NOT \d|LENGTH\(TRUE\)|^\d+ LIKE|^(TRUE|FALSE) LIKE|[-+*/] TRUE", text))


def to_language(text: str) -> str:
    """Return a CESQL expression as this language has it."""
    tokens = [one for one in _TOKEN.findall(text) if not one.isspace()]
    written, rest = _expression(tokens)
    assert not rest, text
    return written


def _expression(tokens: list[str]) -> tuple[str, list[str]]:
    """Read as far as a closing parenthesis, a comma or the end."""
    found: list[str] = []
    while tokens and tokens[0] not in (")", ","):
        token, *tokens = tokens
        if token.upper() == "XOR":
            # TRUE where the sides differ; the suite has literals alone on them
            right, tokens = _expression(tokens)
            return f"{' '.join(found)} <> {right}", tokens
        if token.upper() == "EXISTS":
            name, *tokens = tokens
            found.append(f"{name.lower()} IS NOT NULL")
        elif token == "(" or (tokens[:1] == ["("] and token.upper() not in _WORDS and token.isidentifier()):
            name = "" if token == "(" else token
            parts, tokens = _arguments(tokens if token == "(" else tokens[1:])
            found.append(_call(name.lower(), parts))
        elif token[0] in "'\"":
            inner = re.sub(r"\\(['\"])", r"\1", token[1:-1]).replace("'", "''")
            found.append(
                f"'{inner}'" + (" ESCAPE '\\'" if _is_pattern(found) and re.search(r"\\[%_\\]", inner) else "")
            )
        elif token == "-" and tokens[:1] == ["-"]:
            tokens = tokens[1:]
        else:
            found.append(token if token.upper() in _WORDS or not token.isidentifier() else token.lower())
    return " ".join(found), tokens


def _is_pattern(found: list[str]) -> bool:
    return bool(found) and found[-1].upper() == "LIKE"


def _arguments(tokens: list[str]) -> tuple[list[str], list[str]]:
    parts = []
    while True:
        part, tokens = _expression(tokens)
        parts += [part] if part else []
        if not tokens or tokens[0] == ")":
            return parts, tokens[1:]
        tokens = tokens[1:]


def _call(name: str, parts: list[str]) -> str:
    if name == "concat":
        return f"({' || '.join(parts)})" if parts else "''"
    if name == "concat_ws":
        gap, *texts = parts
        return f"({f' || {gap} || '.join(texts)})" if texts else "''"
    if name == "left":
        return f"substring({parts[0]}, 1, {parts[1]})"
    if name == "right":
        count = parts[1].replace(" ", "")
        return f"substring({parts[0]}, {count[1:] if count.startswith('-') else '-' + count})"
    return f"{name}({', '.join(parts)})"
