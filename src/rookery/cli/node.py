"""`rookery node`: be a participant of a DDS domain, and print what happens there or what a subscription wants.

Two modes: with `--topic` the node reads the topic and prints its events; without, it watches the domain.
"""

from __future__ import annotations

import asyncio
import json as json_text
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rookery.cli.clients import open_domain, read_topic
from rookery.cli.credentials import KeyFile, read_key
from rookery.cli.exit_codes import ExitCode
from rookery.cli.notations import read_schema
from rookery.cli.operations import LogFormat, MetricsPort, announce, metrics_on, set_up_logs
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
    reached,
    write_now,
)
from rookery.cli.unused import refuse_unused
from rookery.errors import RookeryError, SettingsError

if TYPE_CHECKING:
    from rookery.participant.instances import InstanceChanged
    from rookery.rtps.events import Event

__all__ = ["EXAMPLES", "command", "describe"]

EXAMPLES = [
    "rookery node --domain-id 0",
    "rookery node --topic quotes --where 'price < 10'",
    "rookery node --topic quotes --schema 'symbol:string,price:float64' --where 'price < 10'",
    "rookery node --topic quotes --type-name Quote --key symbol --schema quotes.json --engine matrix",
    "rookery node --discovery cuckoo:patent --endpoints endpoints.txt",
    "rookery node --discovery tree --endpoints endpoints.txt --json",
    "rookery node --topic quotes --partition plant-7 --deadline-seconds 2 --instances",
    "rookery node --interface eth0 --no-multicast --peer 10.0.0.7",
    "rookery node --record domain.jsonl --seconds 60",
]


def command(
    domain_id: DomainId = 0,
    interface: Interface = "lo",
    peer: Peers = None,
    no_multicast: NoMulticast = False,
    multicast_data: MulticastData = False,
    limit: LimitTexts = None,
    name: NodeName = "rookery node",
    topic: Annotated[str | None, typer.Option(help="Print the events of this topic.")] = None,
    where: Where = None,
    schema: SchemaText = None,
    type_name: TypeName = None,
    key: TopicKey = None,
    best_effort: BestEffort = False,
    transient_local: TransientLocal = False,
    partition: Partitions = None,
    deadline_seconds: Deadline = None,
    liveliness_seconds: Liveliness = None,
    exclusive: Exclusive = False,
    instances: Annotated[
        bool, typer.Option("--instances", help="Print what becomes of the instances of the topic, too.")
    ] = False,
    key_file: KeyFile = None,
    discovery: Annotated[
        str | None,
        typer.Option(
            help="simple (the default), ribbon, cuckoo, tree, bloom or hashes; as printed: cuckoo:patent, tree:paper."
        ),
    ] = None,
    endpoints: Annotated[
        str | None,
        typer.Option(help="A file of lines, or - for stdin: write TOPIC [TYPE], read TOPIC [TYPE], end TOPIC."),
    ] = None,
    engine: Annotated[
        str, typer.Option(help="What matches the events of --topic: bitmap, matrix, index, counting or scan.")
    ] = "bitmap",
    record: Annotated[Path | None, typer.Option(help="Record the domain for `rookery serve`.")] = None,
    seconds: Seconds = None,
    log_format: LogFormat = "text",
    metrics: MetricsPort = None,
    json: Json = False,
) -> int:
    """Join a DDS domain and print what happens there, or the events of a topic that a filter wants.

    Events of a topic are printed as JSON lines; without --schema the type is learned from whoever announces it.
    Without --topic the comings, goings and pairs of the domain are.
    """
    set_up_logs(log_format)
    _check_discovery(discovery)
    place = {"domain_id": domain_id, "interface": interface, "name": name}
    place |= reached(peer, no_multicast, limit, multicast_data=multicast_data)
    if topic is None:
        refuse_unused(
            "where", "schema", "type_name", "key", "best_effort", "transient_local", "engine",
            "partition", "deadline_seconds", "liveliness_seconds", "exclusive", "instances",
            where="without --topic", instead="give --topic too",
        )  # fmt: skip
        # Whoever only watches wants to hear of everything; who names a protocol is a member like any other.
        watches = discovery is None and endpoints is None
        place |= {"pre_shared_key": read_key(key_file), "discovery": discovery or "simple", "observer": watches}
        asyncio.run(_watch(place, seconds, json, record, metrics, endpoints))
        return ExitCode.DONE
    refuse_unused("endpoints", "record", where="on a node that reads a topic", instead="watch without --topic")
    refuse_unused("json", where="on a node that reads a topic", instead="its events are JSON lines already")
    from rookery.matching import ENGINES

    if engine not in ENGINES:
        raise SettingsError(f"there is no engine {engine!r}: say {', '.join(ENGINES)}")
    if schema is None:
        refuse_unused("type_name", "key", where="where the type is learned", instead="give --schema too, or neither")
    options = {
        "schema": None if schema is None else read_schema(schema),
        "type_name": type_name,
        "key": key or (),
        "reliable": not best_effort,
        "transient_local": transient_local,
        "partitions": tuple(partition or ()),
        "seconds_of_deadline": deadline_seconds,
        "seconds_of_liveliness": liveliness_seconds,
        "exclusive": exclusive,
        "instances": instances,
    }
    place |= {"key": read_key(key_file), "discovery": discovery or "simple", "engine": engine}
    # Whoever has yet to learn the type wants to hear of every endpoint.
    place["observer"] = schema is None
    asyncio.run(_subscribe(place, seconds, topic, where, options, metrics))
    return ExitCode.DONE


def _check_discovery(given: str | None) -> None:
    if given is None:
        return
    from rookery.discovery.protocols import require_protocol

    try:
        require_protocol(given)
    except RookeryError as error:
        raise SettingsError(f"--discovery: {error}") from error


async def _watch(
    place: dict[str, Any],
    seconds: float | None,
    json: bool,
    record: Path | None,
    metrics: int | None,
    endpoints: str | None,
) -> None:
    from rookery.cli.node_endpoints import as_text, follow
    from rookery.discovery import warm
    from rookery.live.metrics import participant_metrics
    from rookery.live.udp import open_participant

    def report(event: Event) -> None:
        described = describe(event)
        if described is not None:
            write_now(json_text.dumps(described) if json else as_text(described))

    await asyncio.to_thread(warm, place["discovery"])
    udp = open_participant(on_event=report, **place)
    prefix = udp.participant.prefix.hex()
    announce(f"joined domain {place['domain_id']} on {place['interface']} as {prefix}", participant=prefix)
    try:
        async with metrics_on(metrics, lambda: participant_metrics(udp.participant)):
            if endpoints is not None:
                follow(udp, endpoints)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await _record(record, udp.participant)
    finally:
        await udp.close()


async def _record(file: Path | None, participant: Any) -> None:
    """Record the domain where a file is named; do not end by yourself."""
    if file is None:
        await asyncio.Event().wait()
    else:
        from rookery.web.producers.domain import record_domain

        await record_domain(file, participant)


async def _subscribe(
    place: dict[str, Any],
    seconds: float | None,
    topic: str,
    where: str | None,
    options: dict[str, Any],
    metrics: int | None,
) -> None:
    from rookery.live.metrics import participant_metrics

    async with (
        open_domain(**place) as client,
        metrics_on(metrics, lambda: participant_metrics(client.dds.udp.participant)),
        AsyncExitStack() as stack,
    ):
        if options["schema"] is None:
            announce(f"no --schema: waiting for somebody in domain {place['domain_id']} who announces what {topic} is")
            try:
                options["schema"] = await client.dds.learn(topic, seconds=seconds)
            except TimeoutError:
                return
        client.dds.on_instance = _print_instance
        events = await stack.enter_async_context(read_topic(client, topic, where, options))
        announce(f"joined domain {place['domain_id']} on {place['interface']}, reading {topic}", topic=topic)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for event in events:
                    write_now(json_text.dumps(event, default=str, ensure_ascii=False))
        if events.dropped:
            announce(f"{events.dropped} events were dropped: the output is slower than the topic")


def _print_instance(changed: InstanceChanged) -> None:
    line = {"instance": changed.key, "state": changed.state.value}
    write_now(json_text.dumps(line, default=str, ensure_ascii=False))


def describe(event: Event) -> dict[str, Any] | None:
    """Return what an event says, as flat data; None for samples, which belong to subscriptions."""
    from rookery.cli.node_endpoints import summary_facts, tree_facts
    from rookery.rtps import events
    from rookery.rtps.identity import is_writer

    match event:
        case events.ParticipantDiscovered(announcement):
            found = {"event": "participant discovered", "participant": announcement.prefix.hex()}
            return {**found, **summary_facts(announcement)}
        case events.ParticipantChanged(announcement):
            found = {"event": "participant changed", "participant": announcement.prefix.hex()}
            return {**found, **summary_facts(announcement)}
        case events.ParticipantLost(prefix, reason):
            return {"event": "participant lost", "participant": prefix.hex(), "reason": reason}
        case events.EndpointDiscovered(announcement):
            kind = "writer" if is_writer(announcement.guid.entity) else "reader"
            topic, type_name = announcement.topic, announcement.type_name
            found = {"event": f"{kind} discovered", "endpoint": str(announcement.guid)}
            return {**found, "topic": topic, "type_name": type_name}
        case events.TreeSearched():
            return tree_facts(event)
        case events.EndpointLost(guid):
            return {"event": "endpoint lost", "endpoint": str(guid)}
        case events.TypeIncompatible(local, remote, reason):
            return {"event": "types do not fit", "endpoint": str(local), "remote": str(remote), "reason": reason}
        case events.MessageRejected(sender, reason):
            return {"event": "message rejected", "sender": str(sender), "reason": reason}
    return None
