"""How kernels are compiled, and where the compiled code is kept.

Rule 1: a kernel lives in a file whose name ends in `kernels.py`, with its plain twin in `tests/twins`; every such file
is decorated from here.
Rule 2: Numba's cache serves stale code when only a callee's file changes, so the cache folder is keyed by the hash of
*all* kernel files together with Numba's version. A second process finds the code there and does not compile again,
wherever its Rookery lies: in another environment, in another checkout with the same kernels, or in the zip file that
Spark's `--py-files` sends to a new folder for each job. So a kernel file imports only kernel files.
Rule 3: processes that want the same kernel at the same time compile it once, as brokers started together and Spark's
workers do: the first has the kernel's lock, the others wait and load what it saved. Whoever has waited for a minute
compiles by itself: the first may have been stopped. They save one after the other, since Numba's index of a kernel is
read, changed and written again: two at once could lose an entry, or file the code of one signature under another.
Rule 4: whoever must wait for a compilation is told why: the first one of a process is logged as a warning, which a
program that has set up no logging shows on stderr.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TextIO, TypeVar

import numba
from numba.core import caching, event

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


class _Place:
    """Tells Numba where the machine code of a kernel is: in the folder of its module's name.

    Numba's own answer names the folder by the path of the source, and asks for the source's time: each place would
    compile by itself.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.folder = KERNEL_FOLDER / function.__module__
        self.line = function.__code__.co_firstlineno

    def ensure_cache_path(self) -> None:
        self.folder.mkdir(exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self.folder)

    def get_source_stamp(self) -> str:
        return KERNEL_FOLDER.name

    def get_disambiguator(self) -> str:
        return str(self.line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Place | None:
        """Answer for Rookery's kernels alone; the functions of others are where Numba puts them."""
        if not py_func.__module__.startswith("rookery.") or not Path(py_file).stem.endswith("kernels"):
            return None
        place = cls(py_func)
        place.ensure_cache_path()
        return place


caching.CacheImpl._locator_classes.insert(0, _Place)


class _FirstCompilation(event.Listener):  # type: ignore[misc]
    """Logs the first kernel of this process that is not in the cache."""

    told = False

    def on_start(self, happened: Any) -> None:
        if not self.told and happened.data["dispatcher"].py_func.__module__.startswith("rookery."):
            self.told = True
            log.warning(
                "compiling kernels, once for this machine: a few seconds for each kind of call; kept in %s",
                KERNEL_FOLDER,
            )

    def on_end(self, happened: Any) -> None:
        pass


event.register("numba:compile", _FirstCompilation())


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Hold the lock of the cache folder; the system drops that of a process that dies."""
    with (KERNEL_FOLDER / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


#: So many seconds a process waits for a kernel that another one compiles.
PATIENCE = 60.0


class _Turn:
    """The lock of a kernel, from the moment at which it is missed in the cache until it is saved there.

    Numba asks, compiles and saves under a lock of its own, so one thread of a process is here at a time; a kernel that
    calls itself is compiled within its own turn.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file: TextIO | None = None

    def wait(self) -> None:
        if self.file is not None:
            return
        self.file = self.path.open("w")
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            time.sleep(0.02)

    def end(self) -> None:
        if self.file is not None:
            fcntl.flock(self.file, fcntl.LOCK_UN)  # also where a child was forked meanwhile, which has the file too
            self.file.close()
            self.file = None


def _compiled_once(compiled: Any) -> Any:
    """Return a compiled function that shares its work with other processes; `NUMBA_DISABLE_JIT` leaves none."""
    cache = getattr(compiled, "_cache", None)
    if cache is None:
        return compiled
    load, save, compile_one = cache.load_overload, cache.save_overload, compiled.compile
    function = compiled.py_func
    turn = _Turn(Path(cache.cache_path) / f"{function.__name__}-{function.__code__.co_firstlineno}.lock")

    def load_overload(signature: Any, target: Any) -> Any:
        found = load(signature, target)
        if found is None:
            turn.wait()
            found = load(signature, target)
        return found

    def save_overload(signature: Any, data: Any) -> None:
        with _alone():
            save(signature, data)

    def compile_in_turn(signature: Any) -> Any:
        mine = turn.file is None
        try:
            return compile_one(signature)
        finally:
            if mine:
                turn.end()

    cache.load_overload, cache.save_overload, compiled.compile = load_overload, save_overload, compile_in_turn
    return compiled


def kernel(function: Function) -> Function:
    """Compile `function` with Numba: cached on disk, without the interpreter lock, wrap-around integer arithmetic."""
    compiled: Function = _compiled_once(numba.njit(function, cache=True, nogil=True, error_model="numpy"))
    return compiled


def short_kernel(function: Function) -> Function:
    """Compile a function that takes a microsecond: it keeps the interpreter lock, for which one may wait 5 ms."""
    compiled: Function = _compiled_once(numba.njit(function, cache=True, error_model="numpy"))
    return compiled
