"""A command that sees no data frame does not wait for pandas.

With the first array that it makes, Arrow asks whether there is pandas by importing it: a fifth of a second of CPU and
33 MiB in each process of a machine that has it, as one with Spark does. Arrow asks once, so here it is told no at that
moment. Nothing is lost by it: whoever asks Arrow for a data frame has pandas imported then, as ever.

Only a process that is a command and nothing else does this; a program that calls Rookery keeps Arrow as it is.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Any

__all__ = ["LIGHT", "leave_out_pandas"]

#: The commands that make Arrow's arrays and never start Spark.
LIGHT = frozenset(
    {"validate", "lint", "explain", "ls", "ps", "node", "spool", "gateway", "broker", "publish", "subscribe", "peer"}
)


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname == "pandas":
            raise ModuleNotFoundError("Arrow is not to import pandas yet", name=fullname)
        return None


def leave_out_pandas() -> None:
    """Let Arrow ask for pandas now, and find none."""
    if "pandas" in sys.modules or find_spec("pandas") is None:
        return
    import pyarrow as pa

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
