"""The fork server of the workers, and what is heard of a stream that is stopped in the middle of a batch: nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rookery.spark.daemon import quietly

#: PySpark's own server of accumulators, whose last connection may break when Spark is stopped.
OTHERS = re.compile(r"-{40}\nException occurred during processing of request.*?-{40}\n", re.DOTALL)
STOPPED = """
import sys, time
from rookery.spark import match, register, session, workload, write_stream

spark = session(master="local[2,4]", memory="1g", settings={"spark.sql.shuffle.partitions": "2"})
register(spark)
for turn in range(3):
    place = f"{sys.argv[1]}/{turn}"
    events = spark.readStream.format("rookery").option("workload", "ranges").option("rowsPerBatch", 200_000).load()
    found = match(events, workload("ranges").rules(150, 1), checkpoint=f"{place}/state")
    query = write_stream(found, f"{place}/out", checkpoint=f"{place}/state")
    while query.lastProgress is None:
        time.sleep(0.05)
    while not query.status["isTriggerActive"]:
        time.sleep(0.001)
    time.sleep(0.2 * (turn + 1))
    query.stop()
    assert query.exception() is None
time.sleep(1)
spark.stop()
"""


@pytest.mark.spark
def test_a_stream_is_stopped_without_a_word(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STOPPED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert OTHERS.sub("", done.stderr) == ""


def test_a_worker_says_nothing_to_who_has_hung_up() -> None:
    def gone(*given: object) -> int:
        raise BrokenPipeError

    def broken(*given: object) -> int:
        raise ValueError("not ours")

    assert quietly(gone)(1, 2) == 1
    assert quietly(lambda *given: len(given) - 2)(1, 2) == 0
    with pytest.raises(ValueError, match="not ours"):
        quietly(broken)()
