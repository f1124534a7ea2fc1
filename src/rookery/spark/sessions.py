"""A Spark session that just works: the right Python and Java, loopback, quiet, quick to start, tasks retried.

Each setting has its reason beside it; they were measured, not guessed. An active session is returned as it is: Rookery
never changes a session that somebody else made. Under `spark-submit` the command line comes first: its master, and
every setting that it gives.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import tempfile
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from rookery.errors import SparkUnavailableError
from rookery.extras import have, lacking
from rookery.kernels import cache_folder
from rookery.spark.compat import check_version, checkpoint_file_manager
from rookery.spark.java import Java, find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LEAN", "LOCAL", "lean_workers", "options", "session"]

#: All cores, and four attempts a task: in plain `local[*]` a task whose Python worker dies fails the whole job.
LOCAL = "local[*,4]"

#: What makes the allocators of a worker reserve no more than they use: one arena, no pool, no threads of BLAS.
LEAN = {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}
#: What a stopped stream would say on every task is left out; of a failure the executor and the query tell as well.
LOG4J = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = spark %p %c{1}: %m%n%ex{short.message}%n
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
appender.console.filter.stopped.type = RegexFilter
appender.console.filter.stopped.regex = Aborting task.*
appender.console.filter.stopped.onMatch = DENY
appender.console.filter.stopped.onMismatch = NEUTRAL
logger.writing.name = org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2Exec
logger.writing.level = off
logger.task.name = org.apache.spark.sql.execution.datasources.v2.DataWritingSparkTask
logger.task.level = off
"""


def session(
    *,
    master: str | None = None,
    name: str = "rookery",
    memory: str = "4g",
    verbose: bool = False,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Return the active session, or start one on `master`: `sc://…` is Spark Connect; by default that of spark-submit,
    of `ROOKERY_MASTER`, or an embedded one.
    """
    if not have("pyspark"):
        raise SparkUnavailableError(f"this needs {lacking('pyspark')}")
    check_version()
    from pyspark.sql import SparkSession

    given = _submitted()
    master = master or given.get("spark.master") or os.environ.get("ROOKERY_MASTER") or LOCAL
    if not master.startswith("sc://"):
        active = SparkSession.getActiveSession()
        if active is not None:
            return active
    check_master(master)
    builder = SparkSession.builder.appName(name)
    if master.startswith("sc://"):
        return builder.remote(master).getOrCreate()
    _environment(master)
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # it repeats each error as a page of JSON
    if master.startswith("local"):
        from rookery.spark.daemon import warm_once

        warm_once()
    # A package sent by --py-files reaches an executor only after its first Python process: the plain one must start it.
    unsent = {"spark.python.daemon.module"} if given.get("spark.submit.pyFiles") else set()
    for key, value in options(master=master, memory=memory, verbose=verbose).items():
        if key in unsent:
            continue
        builder = builder if key in given else builder.config(key, value)
    asked = {**given, **(settings or {})}
    for key, value in {**lean_workers(asked), **(settings or {})}.items():
        builder = builder.config(key, value)
    try:
        return builder.master(master).getOrCreate()
    except Exception as error:
        raise SparkUnavailableError(f"Spark did not start on {master}: {_first_line(error)}") from error


def options(
    *, master: str = LOCAL, memory: str = "4g", verbose: bool = False, java: Java | None = None
) -> dict[str, str]:
    """Return Spark's settings for Rookery, to put into a builder or behind `spark-submit --conf`."""
    found = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # What was done is kept for a page that is off, by default a thousand jobs and queries: 50 KiB of heap each.
        "spark.ui.retainedJobs": "100",
        "spark.ui.retainedStages": "100",
        "spark.sql.ui.retainedExecutions": "50",
        "spark.driver.memory": memory,  # the default of 1 GB is too small for a broadcast set
        "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 2)),  # 200 cost a stateful stream seconds a batch
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        # The default manager forks `readlink` and `chmod` for every log file: 154 against 100 ms a batch.
        "spark.sql.streaming.checkpointFileManagerClass": checkpoint_file_manager(),
        "spark.python.daemon.module": "rookery.spark.daemon",
        "spark.sql.session.timeZone": "UTC",  # a naive timestamp is UTC (spec, subscriptions)
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / f"rookery-warehouse-{os.getuid()}"),
    }
    if master.startswith("local"):
        # Without these Spark binds the machine's outer address; an embedded run has no business there.
        found |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if not _knows_localhost():  # a fresh chroot has no /etc/hosts, and PySpark would look the name up
        found["spark.python.unix.domain.socket.enabled"] = "true"
    java_options = "" if verbose else f"-Dlog4j2.configurationFile=file:{_log4j()}"
    archive = _class_data(java or find_java())
    found["spark.driver.extraJavaOptions"] = f"{java_options} {archive}".strip()
    return found


def lean_workers(asked: Mapping[str, str]) -> dict[str, str]:
    """Return settings for workers whose address space Spark limits (`spark.executor.pyspark.memory`); else none.

    Allocators reserve far more than they use: a worker of 340 MiB had 1,900 MiB of addresses, and 620 with these.
    """
    if "spark.executor.pyspark.memory" not in asked:
        return {}
    found = {f"spark.executorEnv.{name}": value for name, value in LEAN.items()}
    return {name: value for name, value in found.items() if name not in asked}


def _submitted() -> dict[str, str]:
    """Return what `spark-submit` was told; nothing when this program was started in any other way."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return {}
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()
    return dict(SparkConf().getAll())


def check_master(master: str) -> None:
    """Refuse at once a master that does not answer: Spark itself would try for a minute and then say little."""
    match = re.fullmatch(r"(spark|sc)://(\[[^\]]+\]|[^:/;,]+)(?::(\d+))?(?:[/;].*)?", master)
    if match is None:
        known = r"local(\[[\d*]+(,\s*\d+)?\])?|local-cluster\[[\d,\s]+\]|yarn|k8s://.+|spark://.+,.+"
        if not re.fullmatch(known, master):
            raise SparkUnavailableError(
                f"{master!r} is no Spark master: write local[*,4], spark://HOST:7077, sc://HOST:15002, yarn or k8s://…"
            )
        return
    host, port = match[2].strip("[]"), int(match[3] or (7077 if match[1] == "spark" else 15002))
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError as error:
        raise SparkUnavailableError(
            f"no Spark answers at {master} ({error.strerror or error}): is it running, and is the port right? "
            "Leave --master out to run on this machine."
        ) from error


def _environment(master: str) -> None:
    """Set what Spark reads from the environment, where the user has not: both Pythons, Java, and the address."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["JAVA_HOME"] = str(find_java().home)


def _knows_localhost() -> bool:
    try:
        socket.getaddrinfo("localhost", None)
    except socket.gaierror:
        return False
    return True


def _log4j() -> Path:
    path = cache_folder() / "log4j2.properties"
    if not path.is_file() or path.read_text(encoding="utf-8") != LOG4J:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        fresh.write_text(LOG4J, encoding="utf-8")
        fresh.replace(path)
    return path


def _class_data(java: Java) -> str:
    """Return the JVM options of the class-data-sharing cache: use the archive, or make it when this JVM ends.

    The JVM writes the archive while it exits, under a name of its own; the next start puts a finished one in place. So
    no half-written archive is ever used, whoever is killed, and two first runs at once do not disturb each other.
    """
    if not java.class_data or os.environ.get("ROOKERY_CLASS_DATA") == "off" or _has_settings():
        return ""
    import pyspark

    key = blake2b(f"{java.runtime}:{java.version}:{pyspark.__version__}".encode(), digest_size=6).hexdigest()
    archive = cache_folder() / f"spark-{key}.jsa"
    if not archive.exists():
        for made in archive.parent.glob(f"{archive.name}.*"):
            process = made.suffix[1:]
            if process.isdigit() and not Path(f"/proc/{process}").exists():
                made.replace(archive)
    if archive.exists():
        return f"-XX:SharedArchiveFile={archive} -Xshare:auto -Xlog:disable"
    return f"-XX:ArchiveClassesAtExit={archive}.{os.getpid()} -Xlog:disable"


def _has_settings() -> bool:
    """Tell whether Spark has a folder of settings, which is on the class path: with a folder that has files in it a JVM
    makes no archive, and complains of that on the terminal when it ends.
    """
    import pyspark

    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    folder = Path(os.environ.get("SPARK_CONF_DIR") or Path(home) / "conf")
    return folder.is_dir() and any(folder.iterdir())


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
