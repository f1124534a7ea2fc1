"""Kafka to rules to Kafka, with the driver killed by -9: is no alert lost and none doubled for a careful reader?

`python -m benchmarks kill9_kafka [--kills 10] [--seed 1]`. A real broker (`tests/spark/kafka_server.py`) listens with
TLS and a password. A transactional producer sends readings all the while, and gives some transactions up. A child
process reads them, matches them and sends the alerts back by the exactly-once sink. The parent kills it, its JVM and
its workers at random moments and starts it again on the same checkpoint. In the end a reader of committed messages must
hold each alert once: the device, the value, the rule's name and its severity in it, as the readings that were committed
ask for.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.kill9 import QUICK, kill, numbers, too_busy, wait_for

#: By name: from which value on, and how bad that is.
LIMITS = {"warm": (7, "low"), "hot": (9, "high")}
LOT = 40


def drive(folder: Path, *, drain: bool) -> None:
    """Run the stream in this process until it is killed, or to the end of what is there."""
    import pyarrow as pa

    from rookery.spark import match, register, session
    from rookery.spark.sessions import options

    java = f"{options(memory='1g')['spark.driver.extraJavaOptions']} {QUICK}"
    settings = {"spark.sql.shuffle.partitions": "2", "spark.driver.extraJavaOptions": java}
    spark = session(master="local[2,4]", memory="1g", settings=settings)
    register(spark)
    secure = json.loads((folder / "secure.json").read_text())
    rules = pa.table(
        {
            "subscription_id": list(LIMITS),
            "where": [f"value >= {limit}" for limit, _ in LIMITS.values()],
            "severity": [severity for _, severity in LIMITS.values()],
        }
    )
    source = spark.readStream.format("rookery.kafka").options(**secure, subscribe="readings")
    # Small batches to be killed in; what is left when the kills are over goes in large ones.
    events = source.option("maxOffsetsPerTrigger", (400 if drain else 4) * LOT).load()
    events = events.selectExpr("from_json(cast(value as string), 'id bigint, device string, value int') as e")
    checkpoint = str(folder / "state")
    found = match(
        events.select("e.*"), rules, event_id="id", checkpoint=checkpoint, columns=["device", "value"],
        subscription_columns=["severity"],
    )  # fmt: skip
    alerts = found.selectExpr("cast(event_id as string) as key", "to_json(struct(*)) as value")
    sink = alerts.writeStream.format("rookery.kafka").options(**secure, topic="alerts")
    trigger: dict[str, Any] = {"availableNow": True} if drain else {"processingTime": "0 seconds"}
    sink.option("checkpointLocation", checkpoint).trigger(**trigger).start().awaitTermination()
    spark.stop()


class Readings(threading.Thread):
    """Sends lots of readings, each a transaction, until it is told to stop; one in five is given up."""

    def __init__(self, secure: dict[str, str], seed: int) -> None:
        super().__init__(name="readings", daemon=True)
        self.client = {name.removeprefix("kafka."): value for name, value in secure.items()}
        self.random, self.ended, self.committed = random.Random(seed), threading.Event(), dict[int, tuple[str, int]]()

    def run(self) -> None:
        """Send a lot, decide, wait a little."""
        from confluent_kafka import Producer

        producer = Producer({**self.client, "transactional.id": "readings", "log_level": 0})
        producer.init_transactions(60)
        lot = 0
        while not self.ended.wait(0.5):
            rows = {LOT * lot + n: (f"device-{n % 7}", self.random.randrange(12)) for n in range(LOT)}
            producer.begin_transaction()
            for number, (device, value) in rows.items():
                producer.produce("readings", json.dumps({"id": number, "device": device, "value": value}))
            producer.flush(60)
            lot += 1
            if lot % 5 == 0:
                producer.abort_transaction(60)
            else:
                producer.commit_transaction(60)
                self.committed |= rows


def read_alerts(secure: dict[str, str]) -> list[dict[str, Any]]:
    """Read the alerts as one who takes committed messages alone."""
    from confluent_kafka import Consumer, TopicPartition

    client = {name.removeprefix("kafka."): value for name, value in secure.items()}
    consumer = Consumer(
        {**client, "group.id": "reader", "isolation.level": "read_committed", "enable.partition.eof": True}
    )
    parts = consumer.list_topics("alerts", timeout=60).topics["alerts"].partitions
    consumer.assign([TopicPartition("alerts", number, 0) for number in parts])
    found, ended = [], 0
    while ended < len(parts):
        for message in consumer.consume(500, 0.5):
            if message.error() is None:
                found.append(json.loads(message.value()))
            else:
                ended += 1
    consumer.close()
    return found


def wanted(committed: dict[int, tuple[str, int]]) -> Counter[tuple[Any, ...]]:
    """Return the alerts that the committed readings ask for."""
    return Counter(
        (number, name, device, value, severity)
        for number, (device, value) in committed.items()
        for name, (limit, severity) in LIMITS.items()
        if value >= limit
    )


def start(folder: Path, *how: str) -> subprocess.Popen[bytes]:
    """Start the driver in a process of its own."""
    with (folder / "driver.log").open("ab") as log:
        command = [sys.executable, "-m", "benchmarks.kill9_kafka", "--drive", str(folder), *how]
        return subprocess.Popen(command, stdout=log, stderr=log)


def torture(folder: Path, secure: dict[str, str], *, kills: int, seed: int) -> int:
    """Run, kill, start again; then drain and compare."""
    dice = random.Random(seed)
    (folder / "secure.json").write_text(json.dumps(secure))
    readings = Readings(secure, seed)
    readings.start()
    state = folder / "state"
    moments = [(state / "offsets", 1.5), (state / "commits", 1.5), (state / "rookery" / "versions", 1.0)]
    in_flight = done = 0
    while done < kills:
        sign, longest = dice.choice(moments)
        child = start(folder)
        if not wait_for(child, sign):
            if too_busy(folder):
                continue
            print((folder / "driver.log").read_text()[-30_000:], file=sys.stderr)
            return 1
        time.sleep(dice.uniform(0, longest))
        kill(child)
        done += 1
        last = max(numbers(state / "offsets"), default=-1)
        in_flight += last not in numbers(state / "commits")
        print(f"kill {done:3d} of {kills}: batch {last}", flush=True)
    readings.ended.set()
    readings.join()
    while (child := start(folder, "--drain")).wait(timeout=1800) and too_busy(folder):
        pass
    if child.returncode:
        print((folder / "driver.log").read_text()[-30_000:], file=sys.stderr)
        return 1
    names = ("event_id", "subscription_id", "device", "value", "severity")
    found = Counter(tuple(alert[name] for name in names) for alert in read_alerts(secure))
    want = wanted(readings.committed)
    lost, extra = sum((want - found).values()), sum((found - want).values())
    print(
        f"kills {kills} (a batch open in {in_flight}) | readings committed {len(readings.committed)} | "
        f"alerts {sum(want.values())} lost {lost} doubled or wrong {extra}"
    )
    return 0 if want and not lost and not extra else 1


def main(arguments: list[str]) -> int:
    """Run the benchmark, or with --drive the stream itself."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks kill9_kafka", description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drive", type=Path)
    parser.add_argument("--drain", action="store_true")
    asked = parser.parse_args(arguments)
    if asked.drive is not None:
        drive(asked.drive, drain=asked.drain)
        return 0
    from tests.spark.kafka_server import kafka_server

    with tempfile.TemporaryDirectory(prefix="rookery-kill9-") as folder:
        (Path(folder) / "broker").mkdir()
        with kafka_server(Path(folder) / "broker") as server:
            return torture(Path(folder), server.secure_options, kills=asked.kills, seed=asked.seed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
