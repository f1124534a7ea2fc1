"""`rookery spool`: record a DDS topic on disk, each sample at an offset of its own, for Spark to replay."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rookery.cli.exit_codes import ExitCode
from rookery.cli.notations import read_schema
from rookery.cli.options import (
    BestEffort,
    Deadline,
    DomainId,
    Exclusive,
    Interface,
    Json,
    LimitTexts,
    Liveliness,
    MulticastData,
    NodeName,
    NoMulticast,
    Partitions,
    Peers,
    SchemaText,
    Seconds,
    TopicKey,
    TransientLocal,
    TypeName,
    Where,
    note,
    reached,
    write,
    write_json,
)
from rookery.cli.unused import refuse_all_but, refuse_unused
from rookery.errors import SettingsError, TopicError

if TYPE_CHECKING:
    from rookery.live.spool.writer import SpoolWriter
    from rookery.participant.event_types import EventType
    from rookery.rtps.qos import QualityOfService
    from rookery.rtps.types import CdrStruct

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery spool --topic quotes --dir spool/",
    "rookery spool --domain-id 0 --topic quotes --schema 'symbol:string,price:float64' --dir spool/",
    "rookery spool --topic quotes --schema quotes.json --dir spool/ --transient-local --where 'price < 10'",
    "rookery spool --topic quotes --schema quotes.json --dir spool/ --retain-bytes 10000000000 --retain-hours 48",
    "rookery spool --dir spool/ --json",
]


def command(
    dir: Annotated[Path, typer.Option(help="The folder of the spool.")],
    topic: Annotated[str | None, typer.Option(help="The topic to record; without it the spool is described.")] = None,
    schema: SchemaText = None,
    where: Where = None,
    domain_id: DomainId = 0,
    interface: Interface = "lo",
    peer: Peers = None,
    no_multicast: NoMulticast = False,
    multicast_data: MulticastData = False,
    limit: LimitTexts = None,
    name: NodeName = "rookery spool",
    type_name: TypeName = None,
    key: TopicKey = None,
    best_effort: BestEffort = False,
    transient_local: TransientLocal = False,
    partition: Partitions = None,
    endings: Annotated[
        bool, typer.Option("--endings", help="Record ends of instances too, with their keys and a column _state.")
    ] = False,
    deadline_seconds: Deadline = None,
    liveliness_seconds: Liveliness = None,
    exclusive: Exclusive = False,
    retain_bytes: Annotated[int | None, typer.Option(help="Delete the oldest when there is more than this.")] = None,
    retain_hours: Annotated[float | None, typer.Option(help="Delete what is older than this.")] = None,
    gather_seconds: Annotated[
        float, typer.Option(help="How long a record waits for others before it is made durable.")
    ] = 0.02,
    lease_seconds: Annotated[
        float, typer.Option(help="How long the others believe in this reader, and wait for it, when it is silent.")
    ] = 10.0,
    seconds: Seconds = None,
    json: Json = False,
) -> int:
    """Record the samples of a DDS topic durably, with offsets, for `spark.readStream.format("rookery")`.

    Without --schema the type is learned from whoever announces it. A sample is acknowledged to its writer only when the
    disk has it. After a crash start it again with the same --dir: it goes on where it was, without a gap or a repeat as
    far as the writers still have the samples.
    """
    if topic is None:
        refuse_all_but(
            "dir", "json", where="without --topic, where the spool is described", instead="give --topic to record"
        )
        return _describe(dir, json)
    if schema is None:
        refuse_unused("type_name", "key", where="where the type is learned", instead="give --schema too, or neither")
    if best_effort and transient_local:
        raise SettingsError("--transient-local is for reliable writers: leave --best-effort out")
    if lease_seconds < 1:
        raise SettingsError(f"--lease-seconds {lease_seconds}: give at least 1")
    if gather_seconds < 0 or any(limit is not None and limit <= 0 for limit in (retain_bytes, retain_hours)):
        raise SettingsError("--retain-bytes and --retain-hours are more than nothing, --gather-seconds is not negative")
    from rookery.live.spool import Description
    from rookery.live.spool.writer import Retention, SpoolWriter
    from rookery.participant.event_types import event_type
    from rookery.rtps.qos import INFINITE, Durability, Ownership, QualityOfService, Reliability

    options: dict[str, Any] = {"domain_id": domain_id, "interface": interface, "name": name}
    options |= reached(peer, no_multicast, limit, multicast_data=multicast_data)
    known = asyncio.run(_learned(topic, options, seconds)) if schema is None else read_schema(schema)
    kind = event_type(known, type_name=type_name or topic, key=key or ())
    qos = QualityOfService(
        reliability=Reliability.BEST_EFFORT if best_effort else Reliability.RELIABLE,
        durability=Durability.TRANSIENT_LOCAL if transient_local else Durability.VOLATILE,
        history_depth=None,
        partitions=tuple(partition or ()),
        deadline=INFINITE if deadline_seconds is None else round(deadline_seconds * 1_000_000),
        liveliness_lease=INFINITE if liveliness_seconds is None else round(liveliness_seconds * 1_000_000),
        ownership=Ownership.EXCLUSIVE if exclusive else Ownership.SHARED,
    )
    age = None if retain_hours is None else round(retain_hours * 3_600_000_000)
    keys = tuple(field.name for field in kind.struct.fields if field.key)
    if endings and not keys:
        raise SettingsError(f"--endings: {topic} has no instances; name its keys with --key")
    description = Description(topic, domain_id, kind.name, kind.schema, keys, endings=endings)
    with SpoolWriter(dir, description, retention=Retention(retain_bytes, age)) as spool:
        options["lease"] = round(lease_seconds * 1_000_000)
        code, done = asyncio.run(_record(spool, kind, qos, where, gather_seconds, seconds, options))
        done = {"dir": str(dir), "end": spool.end, **done}
    if json:
        write_json(done)
    else:
        write(f"{done['recorded']} records in {done['groups']} groups; {dir} ends at offset {done['end']}")
    return code


async def _learned(topic: str, options: dict[str, Any], seconds: float | None) -> CdrStruct:
    """Return the type that somebody in the domain announces for a topic."""
    from rookery.live.dds import DdsOptions, open_dds

    within = dict(options)
    note(f"no --schema: waiting for somebody in domain {options['domain_id']} who announces what {topic} is")
    transport = await open_dds(within.pop("domain_id"), DdsOptions(**within, observer=True))
    try:
        return await transport.learn(topic, seconds=seconds)
    except TimeoutError:
        raise TopicError(f"nobody has announced what {topic} is within {seconds:g} s: give --schema") from None
    finally:
        await transport.close()


async def _record(
    spool: SpoolWriter,
    kind: EventType,
    qos: QualityOfService,
    where: str | None,
    gather_seconds: float,
    seconds: float | None,
    options: dict[str, Any],
) -> tuple[ExitCode, dict[str, Any]]:
    from rookery.live.spool.recorder import Grouping, SpoolRecorder
    from rookery.live.udp import open_participant

    recorder = SpoolRecorder(spool, kind, qos=qos, where=where, grouping=Grouping(seconds=gather_seconds))
    await asyncio.to_thread(recorder.warm)
    udp = open_participant(on_event=recorder.on_event, **options)
    code = ExitCode.DONE
    try:
        recorder.start(udp)
        note(f"recording {spool.description.topic} of domain {options['domain_id']} from offset {spool.end}")
        try:
            async with asyncio.timeout(seconds):
                await asyncio.wait([recorder.failed])
        except TimeoutError:
            pass
        except asyncio.CancelledError:  # Ctrl-C: what has come is made durable before we go
            code = ExitCode.INTERRUPTED
        await recorder.finish()
    finally:
        await udp.close()
    return code, asdict(recorder.counts)


def _describe(folder: Path, json: bool) -> int:
    from rookery.live.spool import Spool

    spool = Spool(folder)
    octets = sum(path.stat().st_size for path in folder.glob("*.frames"))
    document = {**spool.description.document(), "first": spool.first, "end": spool.end, "octets": octets}
    if json:
        write_json(document)
    else:
        for name, value in document.items():
            write(f"{name:10}  {value}")
    return ExitCode.DONE
