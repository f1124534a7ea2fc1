"""What is finished is kept: the outcome of each task, until the whole run is done.

One file per task, put in place by a rename, so that whoever is killed leaves whole files. A file is named by the task
and by the code that ran it (a hash over all sources of the package): after a change of the code nothing old is used.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rookery.papers.experiments import Task
from rookery.papers.table import Row

__all__ = ["Journal", "Outcome", "code_hash"]

#: The rows of a task and the seconds of CPU that it took.
Outcome = tuple[list[Row], float]


@functools.cache
def code_hash() -> str:
    """Return a hash over the sources of the whole package."""
    package = Path(__file__).parents[1]
    digest = blake2b(digest_size=16)
    for source in sorted(package.rglob("*.py")):
        digest.update(source.relative_to(package).as_posix().encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()


class Journal:
    """The finished tasks of a run, in a folder."""

    def __init__(self, folder: Path, *, code: str | None = None) -> None:
        self.folder = folder
        self._code = code or code_hash()

    def _path(self, task: Task) -> Path:
        return self.folder / f"{task.key(self._code)}.json"

    def find(self, task: Task) -> Outcome | None:
        """Return the outcome of a task, if it was finished before."""
        try:
            document: Any = json.loads(self._path(task).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return document["rows"], document["seconds"]

    def keep(self, task: Task, rows: Sequence[Row], seconds: float) -> None:
        """Record a finished task."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(task)
        fresh = path.with_suffix(f".{os.getpid()}")
        document = {"maker": task.maker, "parameters": dict(task.parameters), "seed": task.seed}
        fresh.write_text(json.dumps({**document, "seconds": seconds, "rows": list(rows)}), encoding="utf-8")
        fresh.replace(path)

    def clear(self) -> None:
        """Forget everything: the run is done."""
        shutil.rmtree(self.folder, ignore_errors=True)
