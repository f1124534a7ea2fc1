"""Broadcasts that are given back: a set is sent once while it is in use, and its file goes when no plan reads it.

PySpark writes what it broadcasts to a file of the driver and keeps the file until the session ends. Nobody can say in
Python when it may go: a DataFrame is lazy, and one that was derived from it does not know it. The JVM can: its plans
hold the broadcast, and when none of them is left its garbage collector takes it, by which Spark itself removes the
copies on the executors. So the last few broadcasts are held here, to be used again for the same content; of an older
one only a weak reference is kept, and its file is removed once the reference is empty.

Nothing presses the JVM to collect, since there a broadcast is a few bytes. So from `MOST_BYTES` of such files on it is
asked to, and again when as many have gathered beside those that were still in use.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["MOST_BYTES", "SentSets", "sent_sets"]

#: How many broadcasts are held for the next job, and the bytes of older ones from which on the JVM is asked to collect.
HELD, MOST_BYTES = 4, 128 * 2**20


@dataclass(frozen=True, slots=True)
class _Retired:
    """A broadcast that is the JVM's alone: a weak reference there, and the file."""

    reference: Any
    path: str
    size_bytes: int


class SentSets:
    """What one SparkContext has broadcast."""

    def __init__(self) -> None:
        self.held: OrderedDict[str, Any] = OrderedDict()
        self.retired: list[_Retired] = []
        self.lock = threading.Lock()
        self.patience = MOST_BYTES

    def send(self, context: SparkContext, key: str, data: Callable[[], bytes], *, hold: bool = True) -> Any:
        """Return the broadcast of this content: one that is held, else a new one."""
        with self.lock:
            if key in self.held:
                self.held.move_to_end(key)
                return self.held[key]
            made = context.broadcast(data())
            if hold:
                self.held[key] = made
            else:
                self._retire(context, made)
            while len(self.held) > HELD:
                self._retire(context, self.held.popitem(last=False)[1])
            self._sweep(context)
            return made

    def _retire(self, context: SparkContext, made: Any) -> None:
        reference = context._jvm.java.lang.ref.WeakReference(made._jbroadcast)
        self.retired.append(_Retired(reference, made._path, os.path.getsize(made._path)))

    def _sweep(self, context: SparkContext) -> None:
        """Remove the files of what the JVM has let go."""
        if sum(one.size_bytes for one in self.retired) > self.patience:
            gc.collect()  # what Python holds of the JVM's by a circle of its own is let go
            context._jvm.System.gc()
            self._drop()
            self.patience = MOST_BYTES + sum(one.size_bytes for one in self.retired)
        else:
            self._drop()

    def _drop(self) -> None:
        kept = []
        for one in self.retired:
            if one.reference.get() is not None:
                kept.append(one)
                continue
            with contextlib.suppress(FileNotFoundError):
                os.unlink(one.path)
        self.retired = kept


_sent: WeakKeyDictionary[Any, SentSets] = WeakKeyDictionary()


def sent_sets(context: SparkContext) -> SentSets:
    """Return what this context has broadcast."""
    return _sent.setdefault(context, SentSets())
