"""How a compiled set reaches the workers, and how each worker process keeps it.

Two ways. *Broadcast*: Spark sends the bytes once to each executor and each worker process unpacks them once. *File*:
the set is a file on each executor's disk, mapped into memory, so all workers of a machine share its pages; the file is
one that everybody sees (`path`), or one that Spark ships (`name`), which is the only way on Spark Connect. In an object
store it is fetched by each process. A set captured in the closure would be sent again with every job.

The same content is sent once, and given back when nothing reads it any more (`broadcasts`). What Spark ships it cannot
take back before the session ends.

A worker process lives across tasks and jobs, so a set stays loaded under its content hash. A few are kept: a stream
that replays a batch needs the set of that batch beside the newest, and a zoned job goes from zone to zone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar
from weakref import WeakKeyDictionary

from rookery.spark.broadcasts import sent_sets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rookery import CompiledSet

__all__ = [
    "BroadcastSet",
    "Carrier",
    "FileSet",
    "RecentValues",
    "ShippedSet",
    "StoredSet",
    "carry",
    "is_connect",
    "keep",
]

#: How many compiled sets a worker process keeps, and how many of what goes with one.
KEPT = 4

T = TypeVar("T")


class RecentValues(Generic[T]):
    """What a process keeps across tasks: the last few values by their keys."""

    def __init__(self) -> None:
        self.values: OrderedDict[Any, T] = OrderedDict()

    def __call__(self, key: Any, load: Callable[[], T]) -> T:
        """Return the value of this key, loaded at the first call in this process."""
        if key in self.values:
            self.values.move_to_end(key)
        else:
            self.values[key] = load()
            while len(self.values) > KEPT:
                self.values.popitem(last=False)
        return self.values[key]


keep: RecentValues[CompiledSet] = RecentValues()


@dataclass(frozen=True, slots=True)
class BroadcastSet:
    """A set that Spark broadcasts."""

    key: str
    broadcast: Any

    def load(self) -> CompiledSet:
        """Return the set, unpacked at the first call in this process."""
        from rookery import CompiledSet

        return keep(self.key, lambda: CompiledSet.from_bytes(self.broadcast.value))


@dataclass(frozen=True, slots=True)
class FileSet:
    """A set in a file that every worker sees under the same path."""

    key: str
    path: str

    def load(self, *, verify: bool = True) -> CompiledSet:
        """Return the set, mapped at the first call in this process."""
        from rookery import CompiledSet

        return keep(self.key, lambda: CompiledSet.load(self.path, verify=verify))


@dataclass(frozen=True, slots=True)
class StoredSet:
    """A set in an object store."""

    key: str
    path: str

    def load(self, *, verify: bool = True) -> CompiledSet:
        """Return the set, fetched at the first call in this process."""
        from rookery import CompiledSet
        from rookery.model.storage import ObjectPath, path_of

        def fetch() -> CompiledSet:
            path = path_of(self.path)
            assert isinstance(path, ObjectPath)
            return CompiledSet.from_bytes(path.read_bytes(), verify=verify)

        return keep(self.key, fetch)


@dataclass(frozen=True, slots=True)
class ShippedSet:
    """A set in a file that Spark copies to each executor."""

    key: str
    name: str

    def load(self) -> CompiledSet:
        """Return the set, mapped at the first call in this process."""
        from pyspark import SparkFiles

        from rookery import CompiledSet

        return keep(self.key, lambda: CompiledSet.load(SparkFiles.get(self.name)))


Carrier = BroadcastSet | FileSet | StoredSet | ShippedSet


def is_connect(spark: SparkSession) -> bool:
    """Tell whether the session is one of Spark Connect, which has no SparkContext and so no broadcast."""
    return "connect" in type(spark).__module__


def carry(
    spark: SparkSession,
    compiled: CompiledSet,
    *,
    share: Literal["auto", "broadcast", "file"] = "auto",
    hold: bool = True,
) -> Carrier:
    """Send a compiled set to the workers: by broadcast, or as a shipped file on Connect and on request.

    A set that no other job will ask for need not be held.
    """
    if share == "file" or is_connect(spark):
        return ship(spark, compiled)
    key, context = compiled.content_hash, spark.sparkContext
    made = sent_sets(context).send(context, key, lambda: compiled.to_bytes().to_pybytes(), hold=hold)
    return BroadcastSet(key, made)


_shipped: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


def ship(spark: SparkSession, compiled: CompiledSet) -> ShippedSet:
    """Copy the set to every executor's disk through Spark."""
    name = f"rookery-{compiled.content_hash}.set"
    known = _shipped.setdefault(spark if is_connect(spark) else spark.sparkContext, set())
    if name in known:
        return ShippedSet(compiled.content_hash, name)
    folder = Path(tempfile.mkdtemp(prefix="rookery-ship-"))
    path = folder / name
    compiled.save(path)
    if is_connect(spark):
        spark.addArtifacts(str(path), file=True)  # copied by the call
        shutil.rmtree(folder, ignore_errors=True)
    else:
        spark.sparkContext.addFile(str(path))
        _remove_at_exit(folder)
    known.add(name)
    return ShippedSet(compiled.content_hash, name)


def _remove_at_exit(folder: Path) -> None:
    """Remove the copy when this process ends: executors that start later still fetch it from the driver."""
    import atexit

    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
