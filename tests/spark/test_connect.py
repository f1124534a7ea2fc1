"""The same tests over Spark Connect: a server of its own, and pytest a second time with a remote session."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from .conftest import QUICK
from .test_cluster import environment, free_port, stop

HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(find_spec("grpc") is None, reason="Spark Connect needs `pip install 'pyspark[connect]'`"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from rookery.spark.sessions import options

    folder = tmp_path_factory.mktemp("connect")
    port = free_port()
    java = f"{options()['spark.driver.extraJavaOptions']} {QUICK}"
    settings = options(memory="1g") | {
        "spark.driver.extraJavaOptions": java,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
    }
    env = environment() | {"SPARK_DAEMON_MEMORY": "1g"}
    submit = str(Path(env["SPARK_HOME"]) / "bin" / "spark-submit")
    flags = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    service = "org.apache.spark.sql.connect.service.SparkConnectServer"
    log = (folder / "server.log").open("wb")
    process = subprocess.Popen(
        [submit, "--master", "local[2,4]", *flags, "--class", service, "spark-internal"],
        stdout=log, stderr=log, env=env, cwd=folder,
    )  # fmt: skip
    try:
        until = time.monotonic() + 3_000
        while time.monotonic() < until and process.poll() is None:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            time.sleep(0.3)
        assert process.poll() is None, (folder / "server.log").read_text()[-2000:]
        yield f"sc://127.0.0.1:{port}"
    finally:
        stop(process)
        log.close()


def suite(address: str, *selection: str) -> None:
    env = {**os.environ, "ROOKERY_TEST_REMOTE": address}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *selection]
    done = subprocess.run(command, cwd=HERE.parents[1], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]


#: The files whose tests make sense on Connect: all that ask for the session and not for a cluster of their own.
FILES = [str(HERE / f"test_{name}.py") for name in ("match", "stream", "files", "summaries", "kafka", "full_disk")]


def test_plans_streams_backtest_diff_and_sql_run_a_second_time_over_connect(server: str) -> None:
    """The tests marked `connect`: one at least of each function, within the time that CI has."""
    suite(server, "-m", "connect", *FILES)


@pytest.mark.slow
def test_the_whole_suite_runs_a_second_time_over_connect(server: str) -> None:
    suite(server, *FILES)
