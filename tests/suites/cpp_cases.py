"""DDS content filters: the cases of OpenDDS's FilterExpression test, from its C++ source.

The arrays of filters are read with what is expected of them: those of the evaluation against the sample that the test
makes, those of the parser as conditions; values and names that it parses alone are compared with a field, or with 1.
ORDER BY belongs to queries, which are no filters, and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .cases import Case

__all__ = ["read_opendds"]

_FILE = "tests/DCPS/FilterExpression/FilterExpression.cpp"
_ARRAY = re.compile(r"const char\* (\w+)\[\] = \{(.*?)\};", re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_KINDS = [
    "VOLATILE_DURABILITY_QOS",
    "TRANSIENT_LOCAL_DURABILITY_QOS",
    "TRANSIENT_DURABILITY_QOS",
    "PERSISTENT_DURABILITY_QOS",
]
_SCHEMA: dict[str, Any] = {
    "name": "string",
    "durability": {"kind": {"$enum": _KINDS}},
    "durability_service": {
        "service_cleanup_delay": {"sec": "int32", "nanosec": "uint32"},
        "history_depth": "int32",
    },
}
#: The arrays of values, and how one becomes a condition.
_VALUES = {
    "inttests": "x = {}", "chartests": "x = {}", "floattests": "x = {}", "strtests": "x = {}", "paramtests": "x = {}",
    "fieldnames": "{} = 1", "primaries": "{} = 1", "calls": "{} = 1",
}  # fmt: skip


def read_opendds(folder: Path) -> Iterator[Case]:
    """Return the cases of a checkout."""
    source = (folder / _FILE).read_text(encoding="utf-8")
    depth = int(re.search(r"history_depth = (\d+);", source)[1])  # type: ignore[index]
    nanoseconds = int(re.search(r"nanosec = (\d+);", source)[1])  # type: ignore[index]
    name = re.search(r'sample\.name = "(\w+)";', source)[1]  # type: ignore[index]
    kind = re.search(r"durability\.kind = DDS::(\w+);", source)[1]  # type: ignore[index]
    sample = {
        "name": name,
        "durability": {"kind": kind},
        "durability_service": {
            "service_cleanup_delay": {"sec": 0, "nanosec": nanoseconds},
            "history_depth": depth,
        },
    }
    for bad in re.findall(r'FilterEvaluator eval\("([^"]*)"', source):
        yield Case(bad, "invalid")
    for array, body in _ARRAY.findall(source):
        for text in _STRING.findall(body):
            if array in ("filters_pass", "filters_fail"):
                due = "true" if array == "filters_pass" else "false"
                yield Case(text, due, sample, _SCHEMA, ("3",))
                continue
            written = _VALUES.get(array, "{}").format(text)
            numbers = [int(one) for one in re.findall(r"%(\d+)", written)]
            left_out = "ORDER BY (queries)" if "ORDER BY" in text else ""
            values = ("1",) * (max(numbers) + 1) if numbers else ()
            yield Case(written, "valid", parameters=values, left_out=left_out)
