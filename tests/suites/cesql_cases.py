"""CESQL: the cases of the CloudEvents project's own test suite (`tck/*.yaml`), put to the reader of the dialect.

A case that asks for a value asks whether the value is that one. An error of CESQL is due as no match, as for a filter.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from .cases import Case

__all__ = ["read_cesql"]

_EVENT = {"specversion": "1.0", "id": "an id", "source": "a source", "type": "a type"}


def read_cesql(folder: Path) -> Iterator[Case]:
    """Return the cases of a folder of YAML files, or of a checkout that has one named `tck`."""
    files = sorted(folder.glob("*.yaml")) or sorted(folder.rglob("*tck/*.yaml"))
    for path in files:
        for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]:
            yield _case(test)


def _case(test: dict[str, Any]) -> Case:
    event = dict(test.get("event") or _EVENT | (test.get("eventOverrides") or {}))
    event = {name: str(value) if isinstance(value, datetime) else value for name, value in event.items()}
    text, error, result = str(test["expression"]), test.get("error"), test.get("result")
    if error in ("parse", "missingFunction"):
        return Case(text, "invalid", event, dialect="cesql")
    if result is not None and not isinstance(result, bool):
        shown = str(result)
        if not isinstance(result, int):
            shown = "'" + shown.replace("'", "\\'") + "'"
        text, result = f"({text}) = {shown}", True
    return Case(text, "true" if result and not error else "false", event, dialect="cesql")
