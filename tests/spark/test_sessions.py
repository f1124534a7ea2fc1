"""The settings of a session, without starting one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rookery.spark.java import find_java
from rookery.spark.sessions import LEAN, lean_workers, options

SOCKETS = "spark.python.unix.domain.socket.enabled"


@pytest.mark.parametrize("known", [True, False])
def test_where_localhost_has_no_name_spark_and_its_workers_meet_in_files(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_up(*_: object, **__: object) -> list[object]:
        if known:
            return []
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    for master in ("local[2]", "spark://192.0.2.1:7077"):
        assert options(master=master).get(SOCKETS) == (None if known else "true")


def test_a_folder_of_settings_and_an_archive_of_classes_do_not_go_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a folder that has files in it on its class path a JVM makes no archive, and says so when it ends."""
    java = find_java()
    if not java.class_data:
        pytest.skip("this Java has no archive of its own classes to build on")
    monkeypatch.delenv("ROOKERY_CLASS_DATA", raising=False)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    (tmp_path / "conf").mkdir()
    for name, value in (("SPARK_CONF_DIR", tmp_path / "conf"), ("SPARK_HOME", tmp_path)):
        with monkeypatch.context() as patch:
            patch.setenv(name, str(value))
            assert ".jsa" in options()["spark.driver.extraJavaOptions"]
            (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.ui.enabled false\n")
            assert ".jsa" not in options()["spark.driver.extraJavaOptions"]
            (tmp_path / "conf" / "spark-defaults.conf").unlink()


def test_a_worker_of_limited_addresses_compiles_a_part_within_a_gibibyte() -> None:
    assert lean_workers({}) == {}
    mine = lean_workers({"spark.executor.pyspark.memory": "1g", "spark.executorEnv.MALLOC_ARENA_MAX": "2"})
    assert set(mine) == {f"spark.executorEnv.{name}" for name in LEAN} - {"spark.executorEnv.MALLOC_ARENA_MAX"}
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)); import rookery.spark.keys; "
        "from rookery.spark.workloads import workload; from rookery.spark.rules import compile_rules, schema_of; "
        "load = workload('devices'); made = compile_rules(load.rules(50_000, 1), schema_of(load.schema)).compiled; "
        "print(len(made.match_indices(next(load.events(0, 8_192)))[0]) > 0)"
    )
    ended = subprocess.run([sys.executable, "-c", program], env=os.environ | LEAN, capture_output=True, text=True)
    assert (ended.stdout, ended.returncode) == ("True\n", 0), ended.stderr[-2_000:]
