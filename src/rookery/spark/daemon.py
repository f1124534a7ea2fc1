"""The fork server of Spark's Python workers, with everything heavy loaded before the first fork.

Spark starts one such process per executor and forks a worker from it for each task slot. A plain one makes every new
worker import NumPy, Arrow and Numba and load the compiled kernels, half a second each; here the parent does it once and
the children inherit it. Named in `spark.python.daemon.module`. Whatever goes wrong while warming up is left to
the task that would meet it too: a fork server that dies would only say "Python worker failed to connect back".

PySpark collects garbage after each task. Of what is loaded here nothing is ever garbage, so it is frozen: a collection
would walk a million objects of imported modules, at the price of a small task, and copy their pages in each child.
"""

from __future__ import annotations

import contextlib
import gc
from typing import Any

from pyspark import daemon

__all__ = ["quietly", "warm", "warm_once"]


def warm() -> None:
    """Import what every task imports, and match one event so that the kernels are in memory."""
    import pyarrow as pa

    import rookery
    from rookery.matching import matcher as make_matcher

    matcher = make_matcher(rookery.Schema(x=float, s=str))
    for number in range(40):  # past the direct scan, so that the bitmap kernels load as well
        matcher.add(number, f"x > {number} and x < {number + 2} or s = 'a{number}'")
    events = pa.table({"id": pa.array([1, 2], pa.int64()), "x": [1.5, None], "s": ["a1", None]})
    matcher.compile().match_many(events, event_id="id")


def warm_once() -> None:
    """Compile here what the workers of this machine will load: where the user is, who can be told, and only once."""
    from rookery.kernels import KERNEL_FOLDER

    mark = KERNEL_FOLDER / "workers"
    if not mark.exists():
        warm()
        mark.touch()


def quietly(worker: Any) -> Any:
    """Return PySpark's function of a worker without its last words to a JVM that has hung up: a stopped stream."""

    def run(*given: Any) -> int:
        try:
            return int(worker(*given) or 0)
        except BrokenPipeError:
            return 1  # this process ends; the next task gets another

    return run


if __name__ == "__main__":
    with contextlib.suppress(Exception):
        warm()
    gc.collect()
    gc.freeze()
    daemon.worker = quietly(daemon.worker)
    daemon.manager()
