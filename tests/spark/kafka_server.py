"""A real Kafka broker for tests: one KRaft process on loopback, from the artefacts of Maven Central.

The jars are fetched once, by the Ivy that PySpark brings, into the cache folder; where they cannot be had the tests
skip. One listener is plain, one asks for TLS and a password.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rookery.kernels import cache_folder
from rookery.spark.java import find_java

VERSION = "4.1.0"
USER, PASSWORD = "rookery", "nest"

SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{plain},SASL_SSL://127.0.0.1:{secure},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{plain},SASL_SSL://127.0.0.1:{secure}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_{user}="{password}";
ssl.keystore.type=PEM
ssl.keystore.location={folder}/broker.pem
log.dirs={folder}/data
num.partitions=3
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
"""


@dataclass(frozen=True, slots=True)
class KafkaServer:
    """Where the broker listens, and the options that its secure listener asks for."""

    plain: str
    secure: str
    certificate: Path

    @property
    def secure_options(self) -> dict[str, str]:
        return {
            "kafka.bootstrap.servers": self.secure,
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.username": USER,
            "kafka.sasl.password": PASSWORD,
            "kafka.ssl.ca.location": str(self.certificate),
        }


@contextlib.contextmanager
def kafka_server(folder: Path) -> Iterator[KafkaServer]:
    """Run a broker in a folder."""
    classes = f"{kafka_jars()}/*"
    java = str(find_java().home / "bin" / "java")
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    _certificate(folder)
    ports = dict(zip(("plain", "secure", "controller"), free_ports(3), strict=True))
    settings = folder / "server.properties"
    settings.write_text(SETTINGS.format(**ports, folder=folder, user=USER, password=PASSWORD))
    run = [java, "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classes]
    form = [*run, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(settings)]
    subprocess.run(form, check=True, capture_output=True)
    with (folder / "broker.log").open("wb") as said:
        broker = subprocess.Popen([*run, "kafka.Kafka", str(settings)], stdout=said, stderr=said)
        try:
            _wait(broker, ports["plain"], folder / "broker.log")
            yield KafkaServer(f"127.0.0.1:{ports['plain']}", f"127.0.0.1:{ports['secure']}", folder / "cert.pem")
        finally:
            broker.kill()
            broker.wait()


def kafka_jars() -> Path:
    """Return a folder with the broker's jars."""
    return fetch_jars("org.apache.kafka", "kafka_2.13", VERSION)


def fetch_jars(group: str, artifact: str, version: str) -> Path:
    """Return a folder with an artefact of Maven Central and all that it needs; skips where they cannot be had."""
    import pyspark

    folder = cache_folder() / f"{artifact.partition('_')[0]}-{version}"
    if not folder.is_dir():
        (ivy,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
        fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
        fetch = [str(find_java().home / "bin" / "java"), "-jar", str(ivy), "-confs", "default"]
        fetch += ["-dependency", group, artifact, version]
        fetch += ["-retrieve", f"{fresh}/[artifact]-[revision](-[classifier]).[ext]"]
        done = subprocess.run(fetch, capture_output=True, text=True, check=False)
        if done.returncode or not list(fresh.glob(f"{artifact}-*.jar")):
            shutil.rmtree(fresh, ignore_errors=True)
            said = (done.stdout.strip() or "Ivy failed").splitlines()[-1]
            pytest.skip(f"{artifact} {version} cannot be fetched: {said}")
        fresh.replace(folder)
    return folder


def _certificate(folder: Path) -> None:
    key, certificate = folder / "key.pem", folder / "cert.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    request += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(request, check=True, capture_output=True)
    (folder / "broker.pem").write_text(key.read_text() + certificate.read_text())


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in held]


def _wait(broker: subprocess.Popen[bytes], port: int, log: Path) -> None:
    while True:
        if broker.poll() is not None:
            raise AssertionError(f"the broker ended: {log.read_text(errors='replace')[-2000:]}")
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.2)
