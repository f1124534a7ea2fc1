"""What went wrong in a job, said once and plainly.

Spark reports a failure of a task as a Java exception around a Python traceback around the reason. Users get the reason.
"""

from __future__ import annotations

import re

from rookery import errors
from rookery.errors import PipelineError, RookeryError

__all__ = ["plain_failure"]

NAMED = re.compile(r"^(?:[\w.]*\b)?(\w+Error): (?:\[Errno \d+\] )?(.*)$")

#: Spark's own conditions that users meet, and what to do about them.
KNOWN = (
    ("CANNOT_READ_FILE_FOOTER", "a Parquet file is cut short or damaged: remove it or write it again"),
    (
        "FAILED_READ_FILE",
        "an input file is cut short or damaged, or was removed meanwhile: remove it or write it again",
    ),
    ("PATH_NOT_FOUND", "an input path does not exist"),
    ("No space left on device", "the disk is full: free some room and run again; nothing was published"),
    ("All masters are unresponsive", "the Spark master does not answer: is it running?"),
    ("Cannot convert column into bool", "a column has another type than the rules expect"),
)


def plain_failure(error: BaseException) -> RookeryError:
    """Return the reason of a failed job as a Rookery error; the Spark error stays as its cause."""
    if isinstance(error, RookeryError):
        return error
    if isinstance(error, ConnectionError) or any(kind.__name__ == "Py4JNetworkError" for kind in type(error).__mro__):
        return PipelineError("Spark does not answer any more: its process was ended, or had no memory left; run again")
    text = str(error)
    lines = text.splitlines()
    for number in range(len(lines) - 1, -1, -1):
        found = NAMED.match(lines[number].strip())
        kind = getattr(errors, found[1], None) if found else None
        if found and isinstance(kind, type) and issubclass(kind, RookeryError):
            following = []
            for line in lines[number + 1 :]:  # a SubscriptionError goes on with its caret
                if not line.strip() or line.lstrip().startswith(("at ", "JVM", "SQLSTATE", "Driver stacktrace")):
                    break
                following.append(line)
            return PipelineError("\n".join([found[2], *following]))
    for sign, advice in KNOWN:
        if sign in text:
            first = next((line.strip() for line in lines if line.strip()), type(error).__name__)
            return PipelineError(f"{advice} ({first})")
    first = next((line.strip() for line in lines if line.strip()), type(error).__name__)
    return PipelineError(f"the Spark job failed: {first}")
