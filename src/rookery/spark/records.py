"""Files of events: which there are, and of what kind. Subscriptions are read by `rookery.model.tables`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rookery.errors import PipelineError
from rookery.model.files import list_files

__all__ = ["FORMATS", "file_format", "list_files"]

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}


def file_format(files: Sequence[Path]) -> str:
    """Return the one format of these files, by their endings."""
    formats = {FORMATS.get(path.suffix.lower(), path.suffix or path.name) for path in files}
    known = formats & set(FORMATS.values())
    if len(formats) != 1 or formats != known:
        raise PipelineError(
            f"files of one kind are needed, with one of the endings {', '.join(FORMATS)}; "
            f"found {', '.join(sorted(formats))}"
        )
    return formats.pop()
