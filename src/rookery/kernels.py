"""How kernels are compiled, and where the compiled code is kept.

Rule 1: a kernel lives in a file whose name ends in `kernels.py`, with its plain twin in `tests/twins`; every such file
is decorated from here.
Rule 2: Numba's cache serves stale code when only a callee's file changes, so the cache folder is keyed by the hash of
*all* kernel files together with Numba's version. A second process finds the code there and does not compile again.
Rule 3: whoever must wait for a compilation is told why: the first one of a process is logged as a warning, which a
program that has set up no logging shows on stderr.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import event

__all__ = ["KERNEL_FOLDER", "cache_folder", "kernel", "short_kernel"]

log = logging.getLogger("rookery.kernels")

Function = TypeVar("Function", bound=Callable[..., Any])


def cache_folder() -> Path:
    """Return the folder that holds what Rookery may make again: `$ROOKERY_CACHE`, else the user's cache folder."""
    named = os.environ.get("ROOKERY_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "rookery"


def _kernel_cache() -> Path:
    digest = blake2b(numba.__version__.encode(), digest_size=8)
    for name, source in sorted(_sources(files("rookery"), "")):
        digest.update(name.encode())
        digest.update(source.read_bytes())
    folder = cache_folder() / f"kernels-{digest.hexdigest()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass  # a read-only home: compile into a folder of our own for this process tree
    return Path(tempfile.mkdtemp(prefix="rookery-kernels-"))


def _sources(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    """Find the kernel files, also of a package in a zip file, as Spark's --py-files sends it."""
    for entry in folder.iterdir():
        name = f"{path}{entry.name}"
        if entry.is_dir():
            yield from _sources(entry, f"{name}/")
        elif name.endswith("kernels.py"):
            yield name, entry


#: Where the compiled kernels are.
KERNEL_FOLDER = _kernel_cache()

numba.config.CACHE_DIR = str(KERNEL_FOLDER)


class _FirstCompilation(event.Listener):  # type: ignore[misc]
    """Logs the first kernel of this process that is not in the cache."""

    told = False

    def on_start(self, happened: Any) -> None:
        if not self.told and happened.data["dispatcher"].py_func.__module__.startswith("rookery."):
            self.told = True
            log.warning("compiling kernels, once for this machine: half a minute or so; kept in %s", KERNEL_FOLDER)

    def on_end(self, happened: Any) -> None:
        pass


event.register("numba:compile", _FirstCompilation())


def kernel(function: Function) -> Function:
    """Compile `function` with Numba: cached on disk, without the interpreter lock, wrap-around integer arithmetic."""
    compiled: Function = numba.njit(function, cache=True, nogil=True, error_model="numpy")
    return compiled


def short_kernel(function: Function) -> Function:
    """Compile a function that takes a microsecond: it keeps the interpreter lock, for which one may wait 5 ms."""
    compiled: Function = numba.njit(function, cache=True, error_model="numpy")
    return compiled
