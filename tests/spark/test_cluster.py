"""A real standalone cluster and a local-cluster: whoever is killed half way, the result is whole and exact."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .cluster_driver import HOLD
from .conftest import QUICK

pytestmark = pytest.mark.spark

HERE = Path(__file__).parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def children(process: int) -> list[tuple[int, str]]:
    """Return every descendant of one of our processes, with its command line."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents.setdefault(int((entry / "stat").read_text().rpartition(")")[2].split()[1]), []).append(
                    int(entry.name)
                )
    found: list[tuple[int, str]] = []
    pending = list(parents.get(process, []))
    while pending:
        one = pending.pop()
        with contextlib.suppress(OSError):
            found.append((one, (Path("/proc") / str(one) / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
        pending += parents.get(one, [])
    return found


def environment() -> dict[str, str]:
    import pyspark

    from rookery.spark.java import find_java

    return {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JAVA_HOME": str(find_java().home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "300m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        "JDK_JAVA_OPTIONS": QUICK,
        "SPARK_NO_DAEMONIZE": "1",
    }


class Driver:
    """The driver process and its conversation."""

    def __init__(self, master: str, log: Path) -> None:
        self.log = log
        with log.open("w") as said:
            self.process = subprocess.Popen(
                [sys.executable, str(HERE / "cluster_driver.py"), master],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True, env=environment(),
            )  # fmt: skip
        assert self.hear() == "ready"

    def hear(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert line, f"the driver died: {self.log.read_text()[-2000:]}"
        return line

    def job(self, folder: Path, *, plan: str = "broadcast", half_way: Any = None) -> dict[str, Any]:
        """Run one job; `half_way` is called when some of its tasks have begun."""
        folder.mkdir()
        if half_way is not None:
            (folder / HOLD).touch()
        assert self.process.stdin is not None
        self.process.stdin.write(f"{plan} {folder}\n")
        self.process.stdin.flush()
        if half_way is not None:
            while len(list(folder.glob("*-*-*"))) < 4:
                assert self.process.poll() is None, self.log.read_text()[-2000:]
                time.sleep(0.05)
            half_way()
            (folder / HOLD).unlink()
        answer: dict[str, Any] = json.loads(self.hear())
        return answer

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(3_000)
        stop(self.process)
        if self.process.stdout is not None:
            self.process.stdout.close()


def stop(process: subprocess.Popen[Any]) -> None:
    """End a process of ours and what it started."""
    for one, _ in children(process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
    process.wait(3_000)


def kill_one(parents: list[int], sign: str, *, deepest: bool = False) -> None:
    """Kill -9 one descendant whose command line holds `sign`."""
    for _ in range(100):
        named = [one for parent in parents for one, line in children(parent) if sign in line]
        if named:
            os.kill(named[-1] if deepest else named[0], signal.SIGKILL)
            return
        time.sleep(0.1)
    raise AssertionError(f"no process {sign} to kill")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    folder = tmp_path_factory.mktemp("cluster")
    env = environment() | {"SPARK_LOG_DIR": str(folder), "SPARK_WORKER_DIR": str(folder / "work")}
    launch = str(Path(env["SPARK_HOME"]) / "bin" / "spark-class")
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    started: list[subprocess.Popen[bytes]] = []
    log = (folder / "cluster.log").open("ab")

    def start(*arguments: str) -> None:
        started.append(subprocess.Popen([launch, *arguments], stdout=log, stderr=log, env=env))

    try:
        start("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        until = time.monotonic() + 3_000
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            time.sleep(0.3)
        for _ in range(2):
            worker = ("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g", address)
            start("org.apache.spark.deploy.worker.Worker", *worker)
        yield address, started
    finally:
        for process in started:
            stop(process)
        log.close()


def test_a_program_runs_under_spark_submit_on_the_master_that_it_names(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path
) -> None:
    """`session()` takes what the command line gives: the master, and each setting; the rest is Rookery's."""
    env = environment()
    settings = {"spark.driver.host": "127.0.0.1", "spark.executor.memory": "700m", "spark.sql.shuffle.partitions": "3"}
    flags = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    submit = str(Path(env["SPARK_HOME"]) / "bin" / "spark-submit")
    command = [submit, "--master", cluster[0], *flags, str(HERE / "submitted.py"), str(tmp_path / "out")]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["master"] == cluster[0]
    assert (said["partitions"], said["daemon"]) == ("3", "rookery.spark.daemon")
    assert said["matches"] == said["oracle"] > 0
    assert len(list((tmp_path / "out").glob("*.parquet"))) > 0


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with all that Rookery needs and without Rookery: a `.pth` file names packages and follows no other."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (place,) = folder.glob("lib/python*/site-packages")
    (place / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "bin" / "python"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    assert subprocess.run([python, "-c", "import rookery"], env=env, capture_output=True, check=False).returncode
    return python


@pytest.mark.parametrize("how", ["--py-files", pytest.param("--archives", marks=pytest.mark.slow)])
def test_a_package_that_travels_with_the_job(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], bare_python: Path, tmp_path: Path, how: str
) -> None:
    """Rookery is installed nowhere: Spark sends it, and the workers import what was sent."""
    package = tmp_path / "rookery.zip"
    source = HERE.parents[1] / "src"
    with zipfile.ZipFile(package, "w") as archive:
        for path in sorted((source / "rookery").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(source))
    env = environment() | {"PYSPARK_PYTHON": str(bare_python), "PYSPARK_DRIVER_PYTHON": str(bare_python)}
    env["PYTHONPATH"] = "" if how == "--py-files" else str(package)  # the driver has it as its own business
    sent = [how, str(package)]
    if how == "--archives":
        sent = [how, f"{package}#sent", "--conf", "spark.executorEnv.PYTHONPATH=./sent"]
    submit = str(Path(env["SPARK_HOME"]) / "bin" / "spark-submit")
    flags = ["--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.executor.memory=700m", *sent]
    command = [submit, "--master", cluster[0], *flags, str(HERE / "submitted.py"), "out"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["matches"] == said["oracle"] > 0
    assert all(("rookery.zip" if how == "--py-files" else "/sent/") in place for place in said["places"])
    assert len(list((tmp_path / "out").glob("*.parquet"))) > 0  # a relative folder is where the driver runs


def test_a_standalone_cluster_survives_the_loss_of_any_part(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path
) -> None:
    address, processes = cluster
    workers = [process.pid for process in processes[1:]]
    driver = Driver(address, tmp_path / "driver.log")
    try:
        # Rules edited all the time, tasks of one batch on two executors, one of them killed: still one set a batch.
        strike = lambda: kill_one(workers, "CoarseGrainedExecutorBackend")  # noqa: E731
        streamed = driver.job(tmp_path / "stream", plan="stream", half_way=strike)
        assert streamed["matches"] > 0
        assert (streamed["missed"], streamed["extra"]) == (0, 0)
        assert streamed["again"]
        assert streamed["sets"] > 1
        assert streamed["executors"] > 1
        whole = driver.job(tmp_path / "none")
        assert whole["matches"] > 0
        assert (whole["missed"], whole["extra"], whole["again"]) == (0, 0, False)
        victims = {
            "python": lambda: kill_one(workers, "rookery.spark.daemon", deepest=True),
            "executor": lambda: kill_one(workers, "CoarseGrainedExecutorBackend"),
            "worker": lambda: (kill_one(workers[:1], "CoarseGrainedExecutorBackend"), processes[1].kill()),
        }
        for name, strike in victims.items():
            plan = "zoned" if name == "worker" else "broadcast"
            answer = driver.job(tmp_path / name, plan=plan, half_way=strike)
            assert answer | {"again": None} == whole | {"again": None}, name
    finally:
        driver.end()


@pytest.mark.slow
def test_a_local_cluster_survives_the_loss_of_an_executor(tmp_path: Path) -> None:
    driver = Driver("local-cluster[2,1,1024]", tmp_path / "driver.log")
    try:
        whole = driver.job(tmp_path / "none")
        assert whole["matches"] > 0
        assert (whole["missed"], whole["extra"]) == (0, 0)
        strike = lambda: kill_one([driver.process.pid], "CoarseGrainedExecutorBackend")  # noqa: E731
        answer = driver.job(tmp_path / "executor", half_way=strike)
        assert answer | {"again": None} == whole | {"again": None}
    finally:
        driver.end()
