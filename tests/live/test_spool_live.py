"""`rookery spool` beside a real Cyclone DDS writer: nothing that counted is lost or repeated, whatever is killed."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rookery.cli.spool import command
from rookery.errors import SchemaError, SettingsError, SpoolError, SubscriptionError, TopicError
from rookery.live.spool import Description, Spool
from rookery.live.spool.recorder import Grouping, SpoolRecorder
from rookery.live.spool.writer import SpoolWriter
from rookery.live.udp import open_participant
from rookery.participant.event_types import event_type
from rookery.rtps import Durability, QualityOfService, Reliability

from .conftest import QUOTE, CyclonePeer, OurPeer

PROGRAM = [sys.executable, "-c", "from rookery.cli import main; main()", "spool"]
Cyclone = Callable[..., CyclonePeer]
LASTING = QualityOfService(reliability=Reliability.RELIABLE, durability=Durability.TRANSIENT_LOCAL, history_depth=None)


def quotes(count: int) -> list[dict[str, Any]]:
    return [{"symbol": f"S{number % 5}", "price": number / 4, "size": number} for number in range(count)]


def records(folder: Path) -> list[dict[str, Any]]:
    spool = Spool(folder)
    return [row for batch in spool.read(spool.first, spool.end) for row in batch.to_pylist()]


def events(folder: Path) -> list[dict[str, Any]]:
    return [{name: row[name] for name in ("symbol", "price", "size")} for row in records(folder)]


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until something holds; the limit only turns a hang into a failure."""
    end = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def has(folder: Path, count: int) -> bool:
    return (folder / "mark").exists() and Spool(folder).end >= count


class Programs:
    """`rookery spool` in processes of its own."""

    def __init__(self, folder: Path, domain_id: int) -> None:
        self.running: list[subprocess.Popen[str]] = []
        self._arguments = [
            *("--domain-id", str(domain_id), "--topic", "quotes", "--type-name", "test::Quote", "--key", "symbol"),
            *("--schema", "symbol:string,price:float64,size:int64", "--dir", str(folder)),
        ]

    def start(self, *more: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        program = subprocess.Popen([*PROGRAM, *self._arguments, *more], stdout=pipe, stderr=pipe, text=True)
        self.running.append(program)
        return program

    def end(self) -> None:
        for program in self.running:
            program.kill()
            program.communicate()


@pytest.fixture
def programs(tmp_path: Path, domain_id: int) -> Iterator[Programs]:
    made = Programs(tmp_path / "spool", domain_id)
    yield made
    made.end()


@pytest.mark.wire
def test_kill_9_while_a_writer_writes_loses_and_repeats_nothing(
    cyclone: Cyclone, programs: Programs, tmp_path: Path
) -> None:
    folder, count = tmp_path / "spool", 2_400
    peer = cyclone()
    # A writer waits for a reader that does not acknowledge: as long as the lease of one that was killed, and more.
    writer = peer.do("writer", topic="quotes", type="Quote", transient_local=True, blocking=3_000)
    sent = quotes(count)
    writing = threading.Thread(target=lambda: peer.do("write", entity=writer, samples=sent, pause=0.001))
    counted: list[dict[str, Any]] = []
    for kill, enough in enumerate((300, 900)):
        program = programs.start("--transient-local", "--gather-seconds", "0.01")
        if kill == 0:
            writing.start()
        wait_for(lambda enough=enough: has(folder, enough), f"{enough} records")
        program.send_signal(signal.SIGKILL)
        program.communicate()
        now = records(folder)
        assert now[: len(counted)] == counted, "a record that counted has changed"
        counted = now
    last = programs.start("--transient-local", "--json")
    writing.join()
    wait_for(lambda: has(folder, count), "all records")
    last.send_signal(signal.SIGTERM)
    told = json.loads(last.communicate(timeout=600)[0])
    assert last.returncode == 130
    assert told["end"] == count
    assert told["recorded"] <= count - 900  # it went on where the killed one was

    rows = records(folder)
    assert rows[: len(counted)] == counted
    assert events(folder) == sent
    names = [(row["_writer"], row["_sequence"]) for row in rows]
    assert len(set(names)) == len(names) == count
    assert [row["_sequence"] for row in rows] == list(range(1, count + 1))
    assert [row["_offset"] for row in rows] == list(range(count))


@pytest.mark.wire
def test_only_what_the_disk_has_is_acknowledged(cyclone: Cyclone, domain_id: int, tmp_path: Path) -> None:
    async def test() -> None:
        our = OurPeer(domain_id)
        kind = event_type(QUOTE, type_name="unused")
        writer = our.writer("quotes", QUOTE, LASTING)
        description = Description("quotes", domain_id, QUOTE.name, kind.schema, ("symbol",))
        spool = SpoolWriter(tmp_path, description)
        recorder = SpoolRecorder(spool, kind, qos=LASTING)
        recorder.warm()
        disk, append = threading.Event(), spool.append

        def slow_disk(*group: Any) -> range:
            disk.wait(600)
            return append(*group)

        spool.append = slow_disk  # type: ignore[method-assign] # a disk that takes its time
        udp = open_participant(on_event=recorder.on_event, domain_id=domain_id)
        try:
            recorder.start(udp)
            await our.matched(writer)
            for quote in quotes(20):
                our.write(writer, QUOTE, quote)
            await our.until(lambda: recorder._writing is not None)
            await asyncio.sleep(0.5)  # several HEARTBEATs that ask for an answer
            assert not our.udp.participant.is_acknowledged(writer)
            disk.set()
            await our.until(lambda: our.udp.participant.is_acknowledged(writer))
            assert Spool(tmp_path).end == 20
            await recorder.finish()
        finally:
            disk.set()
            await udp.close()
            await our.udp.close()
            spool.close()

    asyncio.run(test())
    assert events(tmp_path) == quotes(20)


@pytest.mark.wire
def test_a_slow_disk_holds_up_the_writer_and_not_our_memory(domain_id: int, tmp_path: Path) -> None:
    async def test() -> list[int]:
        our = OurPeer(domain_id)
        kind = event_type(QUOTE, type_name="unused")
        writer = our.writer("quotes", QUOTE, LASTING)
        description = Description("quotes", domain_id, QUOTE.name, kind.schema, ("symbol",))
        spool = SpoolWriter(tmp_path, description)
        recorder = SpoolRecorder(spool, kind, qos=LASTING, grouping=Grouping(seconds=0.01, records=10))
        recorder.warm()
        sizes, append = [], spool.append

        def slow_disk(batch: Any, writers: Any) -> range:
            sizes.append(batch.num_rows)
            time.sleep(0.02)
            return append(batch, writers)

        spool.append = slow_disk  # type: ignore[method-assign] # a disk that takes its time
        udp = open_participant(on_event=recorder.on_event, domain_id=domain_id)
        try:
            recorder.start(udp)
            await our.matched(writer)
            for quote in quotes(200):
                our.write(writer, QUOTE, quote)
            await our.until(lambda: our.udp.participant.is_acknowledged(writer))
            await recorder.finish()
        finally:
            await udp.close()
            await our.udp.close()
            spool.close()
        return sizes

    sizes = asyncio.run(test())
    assert events(tmp_path) == quotes(200)
    assert max(sizes) <= 10


@pytest.mark.wire
def test_a_filter_chooses_and_the_spool_says_what_it_is(
    cyclone: Cyclone, programs: Programs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "spool"
    peer = cyclone()
    writer = peer.do("writer", topic="quotes", type="Quote", blocking=3_000)
    program = programs.start("--where", "price >= 2 AND symbol = 'S1'", "--json")
    assert peer.do("wait_matched", entity=writer, timeout=600)
    peer.do("write", entity=writer, samples=quotes(200))
    peer.do("dispose", entity=writer, sample=quotes(1)[0])
    wanted = [quote for quote in quotes(200) if quote["price"] >= 2 and quote["symbol"] == "S1"]
    wait_for(lambda: has(folder, len(wanted)), "the records")
    program.send_signal(signal.SIGINT)
    out, errors = program.communicate(timeout=600)
    assert program.returncode == 130, errors
    told = json.loads(out)
    assert (told["recorded"], told["unwanted"], told["endings"]) == (len(wanted), 200 - len(wanted), 1)
    assert events(folder) == wanted

    command(dir=folder, json=True)
    document = json.loads(capsys.readouterr().out)
    assert (document["topic"], document["first"], document["end"]) == ("quotes", 0, len(wanted))
    assert document["schema"] == {"symbol": "string", "price": "float64", "size": "int64"}


@pytest.mark.wire
def test_ends_of_instances_are_records_where_they_are_asked_for(
    cyclone: Cyclone, programs: Programs, tmp_path: Path
) -> None:
    folder = tmp_path / "spool"
    peer = cyclone()
    writer = peer.do("writer", topic="quotes", type="Quote", blocking=3_000)
    programs.start("--endings", "--where", "price < 1")
    assert peer.do("wait_matched", entity=writer, timeout=600)
    peer.do("write", entity=writer, samples=quotes(10))
    peer.do("dispose", entity=writer, sample=quotes(10)[1])
    peer.do("unregister", entity=writer, sample=quotes(10)[2])
    peer.do("write", entity=writer, samples=quotes(2))
    wait_for(lambda: has(folder, 8), "the records")
    programs.end()
    wanted = [{"_state": "alive", **quote} for quote in quotes(4)]
    nothing = {"price": None, "size": None}
    ends = [{"_state": "disposed", "symbol": "S1", **nothing}, {"_state": "unregistered", "symbol": "S2", **nothing}]
    columns = ("_state", "symbol", "price", "size")
    assert [{name: row[name] for name in columns} for row in records(folder)] == [*wanted, *ends, *wanted[:2]]
    with pytest.raises(SpoolError, match="was begun with --endings"):
        command(dir=folder, topic="quotes", schema="symbol:string,price:float64,size:int64", type_name="test::Quote",
                key=["symbol"], domain_id=Spool(folder).description.domain_id)  # fmt: skip


@pytest.mark.wire
def test_of_two_writers_the_records_are_the_stronger_ones(cyclone: Cyclone, programs: Programs, tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    peer = cyclone()
    weak, strong = (
        peer.do("writer", topic="quotes", type="Quote", strength=strength, blocking=3_000) for strength in (1, 2)
    )
    program = programs.start("--exclusive", "--json")
    for writer in (weak, strong):
        assert peer.do("wait_matched", entity=writer, timeout=600)
    peer.do("write", entity=strong, samples=quotes(4))
    wait_for(lambda: has(folder, 4), "the records of the strong one")
    peer.do("write", entity=weak, samples=quotes(5))
    wait_for(lambda: has(folder, 5), "the one of an instance that the strong one has not written")
    program.send_signal(signal.SIGINT)
    out, errors = program.communicate(timeout=600)
    assert program.returncode == 130, errors
    told = json.loads(out)
    assert (told["recorded"], told["superseded"], told["unwanted"]) == (5, 4, 0)
    assert events(folder) == quotes(5)


@pytest.mark.wire
def test_the_type_is_learned_and_an_absent_member_is_null(cyclone: Cyclone, domain_id: int, tmp_path: Path) -> None:
    """Nothing is said of the topic: an appendable type in XCDR2, its name and its key come from Cyclone DDS."""
    folder = tmp_path / "spool"
    peer = cyclone()
    writer = peer.do("writer", topic="readings", type="Reading", blocking=3_000)
    readings = [
        {"sensor": "a", "value": 1.5, "note": None, "color": "GREEN"},
        {"sensor": "b", "value": -2.5, "note": "loud", "color": "RED"},
    ]
    command = [*PROGRAM, "--domain-id", str(domain_id), "--topic", "readings", "--dir", str(folder)]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert peer.do("wait_matched", entity=writer, timeout=600)
        peer.do("write", entity=writer, samples=readings)
        wait_for(lambda: has(folder, 2), "the records")
    finally:
        program.kill()
        program.communicate()
    assert [{name: row[name] for name in readings[0]} for row in records(folder)] == readings
    description = Spool(folder).description
    assert (description.type_name, description.key) == ("test::Reading", ("sensor",))


@pytest.mark.parametrize(
    ("options", "kind", "reason"),
    [
        ({"topic": "t", "seconds": 0.1, "domain_id": 231}, TopicError, "nobody has announced what t is"),
        ({"topic": "t", "schema": "x:int64", "best_effort": True, "transient_local": True}, SettingsError, "reliable"),
        ({"topic": "t", "schema": "x:int64", "endings": True}, SettingsError, "name its keys with --key"),
        (
            {"topic": "t", "schema": "_state:int64", "key": ["_state"], "endings": True},
            SchemaError,
            "rename the attrib",
        ),
        ({"topic": "t", "schema": "x:int64", "retain_bytes": 0}, SettingsError, "--retain-bytes"),
        ({"topic": "t", "schema": "_offset:int64"}, SchemaError, "rename the attributes"),
        ({"topic": "t", "schema": "x:int64", "where": "y = 1"}, SubscriptionError, "unknown field 'y'"),
        ({"topic": "t", "schema": "x:int64", "domain_id": 999}, TopicError, "choose one of 0 to 232"),
        ({}, SpoolError, "is no spool"),
    ],
)
def test_mistakes_say_what_to_do(options: dict[str, Any], kind: type[Exception], reason: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=reason):
        command(dir=tmp_path, **options)
