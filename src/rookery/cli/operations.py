"""What the commands that stay running share: logs as lines of text or of JSON, and metrics on request.

Declare `log_format: LogFormat = "text"` and `metrics: MetricsPort = None` in the command, and call `set_up_logs` first.
Logs are notes, so they go to stderr; with `json` each is one object with `time`, `level`, `logger`, `message`, what was
given as `extra`, and `error` with the traceback where there is one. What the command itself has to say goes through
`announce`, so that stderr is all text or all JSON. Metrics are served inside `async with metrics_on(metrics, collect)`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rookery.cli.options import note

if TYPE_CHECKING:
    from rookery.live.metrics import Metric

__all__ = ["JsonFormatter", "LogFormat", "MetricsPort", "announce", "metrics_on", "set_up_logs"]

LogFormat = Annotated[
    Literal["text", "json"], typer.Option("--log-format", help="Logs on stderr as text, or as one JSON object a line.")
]
MetricsPort = Annotated[
    int | None,
    typer.Option("--metrics", help="Serve Prometheus metrics on this port of 127.0.0.1; 0 for any.", min=0, max=65_535),
]

#: What every record has; the rest was given by whoever logs.
_COMMON = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """One JSON object a line, whatever the message holds."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _COMMON and key not in line}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def set_up_logs(log_format: str, *, level: int = logging.INFO) -> None:
    """Send the logs of Rookery, and of nobody else, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonFormatter() if log_format == "json" else logging.Formatter("rookery: %(levelname)s: %(message)s")
    )
    logger = logging.getLogger("rookery")
    logger.handlers = [handler]
    logger.setLevel(level if log_format == "json" else logging.WARNING)
    logger.propagate = False
    if log_format == "json":  # what is told of a first compilation becomes a line like the others
        kernels = logging.getLogger("rookery.kernels")
        kernels.handlers, kernels.propagate = [], True


def announce(line: str, **details: Any) -> None:
    """Tell the user something: a line of text, or with JSON logs an object that has the details too."""
    logger = logging.getLogger("rookery")
    if any(isinstance(handler.formatter, JsonFormatter) for handler in logger.handlers):
        logging.getLogger("rookery.cli").info(line, extra=details)
    else:
        note(line)


@contextlib.asynccontextmanager
async def metrics_on(port: int | None, collect: Callable[[], Iterable[Metric]]) -> AsyncIterator[None]:
    """Serve metrics while the block runs, where a port was asked for, and say where."""
    if port is None:
        yield
        return
    from rookery.live.metrics import serve_metrics

    async with serve_metrics(port, collect) as bound:
        url = f"http://127.0.0.1:{bound}/metrics"
        announce(f"metrics at {url}", url=url)
        yield
