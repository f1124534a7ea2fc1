"""How a run goes over its processes: by file, so that what a file's tests share is made once, and from two ends.

At the head of the list are the files whose tests share the Spark session, at its tail the others, the longest last. The
first process takes from the head, the others from the tail, until they meet: one process has the session as long as
there is anything else to do, and no long file begins when all others are done.

`--dist loadgroup` of xdist 3.8 would not do: with pytest 9.2 it puts no test into any group (pytest-xdist #1386).
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

__all__ = ["FromTwoEnds", "in_turn"]

#: The files that take longest, in the order in which they begin: each kind has its own. The first with the shared
#: session is one of tests/spark, whose settings it has; those of other folders take the session that is there.
LONGEST = (
    "tests/spark/test_kill9.py",
    "tests/docs/test_pages.py",
    "tests/spark/test_cluster.py",
    "tests/brokers/test_mixed_faults.py",
    "tests/papers/test_flips.py",
    "tests/live/test_interfaces.py",
    "tests/papers/test_reproduce.py",
    "tests/brokers/test_turmoil.py",
    "tests/spark/test_connect.py",
    "tests/spark/test_tables.py",
    "tests/spark/test_kafka.py",
    "tests/spark/test_every_spark.py",
    "tests/gateway/test_histories.py",
    "tests/model/dialects/test_sigma.py",
    "tests/matching/test_compiled_fuzz.py",
    "tests/spark/test_daemon.py",
    "tests/test_kernels.py",
    "tests/spark/test_broadcasts.py",
    "tests/live/test_live_commands.py",
    "tests/live/brokers/test_mixed_faults.py",
    "tests/oracle/test_forms_at_random.py",
    "tests/oracle/test_oracle.py",
    "tests/live/test_overlay_live.py",
    "tests/matching/test_threads.py",
    "tests/simulated/test_discovery.py",
    "tests/test_fresh_environment.py",
    "tests/live/brokers/test_server.py",
    "tests/participant/test_fuzz.py",
    "tests/spark/test_carried.py",
    "tests/overlay/test_invariants.py",
    "tests/overlay/test_histories.py",
    "tests/brokers/test_coordinates.py",
    "tests/matching/test_damage.py",
    "tests/matching/test_memory.py",
    "tests/filters/test_filter_fuzz.py",
    "tests/spark/test_documents.py",
    "tests/papers/test_sweep.py",
)


class FromTwoEnds(LoadFileScheduling):  # type: ignore[misc] # xdist says nothing of its types
    """Gives the files at the head of the list to the first process and those at its tail to the others."""

    def _assign_work_unit(self, node: Any) -> None:
        if node is not self.nodes[0]:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)


def in_turn(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests in the order of the list; within a file theirs stays."""
    shared = {_file(item) for item in items if "spark" in getattr(item, "fixturenames", ())}
    of_spark = {_file(item) for item in items if item.get_closest_marker("spark")}
    on_wire = {_file(item) for item in items if item.get_closest_marker("wire")}
    places = {file: place for place, file in enumerate(LONGEST)}

    def turn(item: pytest.Item) -> tuple[bool, int, str]:
        file = _file(item)
        begins = places.get(file, len(LONGEST) + (0 if file in of_spark else 1 if file in on_wire else 2))
        return (False, begins, file) if file in shared else (True, -begins, file)

    return sorted(items, key=turn)


def _file(item: pytest.Item) -> str:
    return item.nodeid.split("::")[0]
