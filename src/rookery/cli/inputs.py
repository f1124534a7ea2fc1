"""What a command on Spark is to read is looked for before Spark starts: a mistyped path is told at once.

Rule: only what is certain is said here, that nothing of a local name is there. What is in an object store or in Spark's
catalog, and whether files can be read, is known when they are read.
"""

from __future__ import annotations

from pathlib import Path

from rookery.errors import PipelineError
from rookery.model.storage import path_of
from rookery.spark.names import catalog_name

__all__ = ["look_for"]


def look_for(*texts: str) -> None:
    """Raise for the first text that is a local path at which nothing is."""
    for text in texts:
        if catalog_name(text) is None:
            path = path_of(text)
            if isinstance(path, Path) and not path.exists():
                raise PipelineError(f"{text}: no such file or folder")
