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

from .test_cluster import environment, free_port, stop

HERE = Path(__file__).parent

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.skipif(find_spec("grpc") is None, reason="Spark Connect needs `pip install 'pyspark[connect]'`"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from rookery.spark.sessions import options

    folder = tmp_path_factory.mktemp("connect")
    port = free_port()
    settings = options(memory="1g") | {
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
        until = time.monotonic() + 120
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


def test_the_plans_and_a_stream_run_over_connect(server: str) -> None:
    match, stream = HERE / "test_match.py", HERE / "test_stream.py"
    suite(
        server,
        f"{match}::test_a_small_table_is_matched_and_the_bad_rule_set_aside",
        f"{match}::test_sql_gives_the_same",
        f"{stream}::test_edits_count_from_the_next_micro_batch_without_a_restart",
    )


@pytest.mark.slow
def test_the_suite_runs_a_second_time_over_connect(server: str) -> None:
    suite(server, *(str(HERE / f"test_{name}.py") for name in ("match", "stream", "files")))
