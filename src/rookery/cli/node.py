"""`rookery node`: be a member of a DDS domain, and print what happens there or what a subscription wants."""

from __future__ import annotations

import asyncio
import json as json_text
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rookery.cli.exit_codes import ExitCode
from rookery.cli.keys import read_key
from rookery.cli.operations import LogFormat, MetricsPort, announce, metrics_on, set_up_logs
from rookery.cli.options import BestEffort, DomainId, Interface, Json, SchemaText, TopicKey, TypeName, write
from rookery.errors import SettingsError

if TYPE_CHECKING:
    from rookery.rtps.events import Event

__all__ = ["EXAMPLES", "command"]

Routing = Literal["dds", "overlay"]

EXAMPLES = [
    "rookery node --domain-id 0",
    "rookery node --discovery ribbon --topic quotes --schema 'symbol:string,price:float64'",
    "rookery node --topic quotes --schema 'symbol:string,price:float64' --where 'price < 10'",
    "rookery node --topic quotes --type-name Quote --key symbol --schema quotes.json --json",
    "rookery node --discovery cuckoo:patent --endpoints endpoints.txt",
    "rookery node --discovery tree --endpoints endpoints.txt --json",
    "rookery node --island site-a --listen 192.0.2.1:7501 --join 192.0.2.2:7501 --record site-a.jsonl",
]


def command(
    domain_id: DomainId = 0,
    interface: Interface = "lo",
    name: Annotated[str, typer.Option(help="What this node is called.")] = "rookery node",
    topic: Annotated[str | None, typer.Option(help="Print the events of this topic.")] = None,
    where: Annotated[str | None, typer.Option(help="Only those that satisfy this WHERE clause.")] = None,
    schema: SchemaText = None,
    type_name: TypeName = None,
    key: TopicKey = None,
    best_effort: BestEffort = False,
    transient_local: Annotated[
        bool, typer.Option("--transient-local", help="Ask writers for what they kept as well.")
    ] = False,
    island: Annotated[str | None, typer.Option(help="Be the gateway of the site of this name.")] = None,
    listen: Annotated[str | None, typer.Option(help="HOST:PORT where other gateways or peers reach this one.")] = None,
    join: Annotated[list[str] | None, typer.Option(help="HOST:PORT of another gateway or peer.")] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="A file with the key that the domain, or all gateways or peers, share.")
    ] = None,
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
    record: Annotated[
        Path | None, typer.Option(help="Record the domain, or the site of --island, for `rookery serve`.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Leave after so long; by default on Ctrl-C.")] = None,
    log_format: LogFormat = "text",
    metrics: MetricsPort = None,
    routing: Annotated[Routing, typer.Option(help="Who passes events on: DDS, or the peers of an overlay.")] = "dds",
    space: Annotated[
        str | None,
        typer.Option(help="Overlay: the attributes that span the space, as brokers take it: price:0:100,symbol"),
    ] = None,
    publish: Annotated[bool, typer.Option("--publish", help="Overlay: publish the JSON lines of stdin.")] = False,
    arc: Annotated[bool, typer.Option("--arc", help="Overlay: pass each event to each peer exactly once.")] = False,
    multicast: Annotated[
        bool, typer.Option("--multicast", help="Overlay: an event that came from a covering peer does not go up again.")
    ] = False,
    json: Json = False,
) -> int:
    """Join a DDS domain and print what happens there, or the events of a topic that a filter wants.

    Events of a topic are printed as JSON lines. Without --topic the comings, goings and pairs of the domain are. With
    --island the node is also the gateway of its site: what participants here and at other sites have for each other
    crosses, and nothing else; a filter acts at the site of the writer.
    """
    set_up_logs(log_format)
    if metrics is not None and routing == "overlay":
        raise SettingsError("--metrics is for a node on DDS")
    if record is not None and island is None and (topic is not None or routing == "overlay"):
        raise SettingsError("--record is of a whole domain: leave --topic and --routing, or give --island")
    if endpoints is not None and (topic is not None or island is not None or routing == "overlay"):
        raise SettingsError("--endpoints is for a node without --topic, --island and --routing")
    if engine != "bitmap":
        _check_engine(engine, reads_a_topic=topic is not None and island is None and routing == "dds")
    if routing == "overlay":
        from rookery.cli import overlay_node

        ways = overlay_node.Ways(join or [], listen or "127.0.0.1:0", key_file)
        spread = {"arc": arc, "multicast": multicast}
        overlay_node.run(topic, schema, space, where, ways=ways, publish=publish, seconds=seconds, **spread)
        return ExitCode.DONE
    if island is None and (listen or join):
        raise SettingsError("--listen and --join are for a gateway: give --island too")
    described = {"schema": schema, "type_name": type_name, "key": key or ()}
    if island is not None:
        from rookery.cli.node_island import run_island

        quality = {"reliable": not best_effort, "transient_local": transient_local}
        ends = {"listen": listen, "join": join or [], "key_file": key_file}
        place = {"domain_id": domain_id, "interface": interface, "name": name}
        asyncio.run(
            run_island(
                island,
                topic,
                where,
                {**described, **quality},
                ends,
                place,
                seconds,
                json=json,
                record=record,
                metrics=metrics,
            )
        )
        return ExitCode.DONE
    place = {"domain_id": domain_id, "interface": interface, "name": name, "pre_shared_key": read_key(key_file)}
    # Whoever only watches wants to hear of everything; who names a protocol is a member like any other.
    watches = topic is None and discovery is None and endpoints is None
    place |= {"discovery": discovery or "simple", "observer": watches}
    if topic is None:
        if where or schema or type_name or key or transient_local or best_effort:
            raise SettingsError("these options describe a topic: give --topic too")
        run = _watch(place, seconds, json, record, metrics, endpoints)
    else:
        if schema is None:
            raise SettingsError("--topic needs --schema, for example --schema 'symbol:string,price:float64'")
        quality = {"reliable": not best_effort, "transient_local": transient_local}
        options = {**described, "schema": _schema(schema), **quality}
        run = _subscribe({**place, "engine": engine}, seconds, topic, where, options, metrics)
    asyncio.run(run)
    return ExitCode.DONE


def _check_engine(engine: str, *, reads_a_topic: bool) -> None:
    from rookery.matching import ENGINES

    if engine not in ENGINES:
        raise SettingsError(f"there is no engine {engine!r}: say {', '.join(ENGINES)}")
    if not reads_a_topic:
        raise SettingsError(
            "--engine is for a node that reads a --topic over DDS: gateways and peers of the overlay ask what others "
            "want of them, a few filters at a time, and match with bitmap"
        )


def _schema(text: str) -> Any:
    from rookery.model import Schema

    return Schema.read(text)


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
            _write_now(json_text.dumps(described) if json else as_text(described))

    await asyncio.to_thread(warm, place["discovery"])
    udp = open_participant(on_event=report, **place)
    prefix = udp.participant.prefix.hex()
    announce(f"joined domain {place['domain_id']} on {place['interface']} as {prefix}", participant=prefix)
    try:
        async with metrics_on(metrics, lambda: participant_metrics(udp.participant)):
            if endpoints is not None:
                follow(udp, endpoints)
            if record is None:
                await _sleep(seconds)
            else:
                from rookery.web.producers.domain import record_domain

                with suppress(TimeoutError):
                    await asyncio.wait_for(record_domain(record, udp.participant), seconds)
    finally:
        await udp.close()


async def _subscribe(
    place: dict[str, Any],
    seconds: float | None,
    topic: str,
    where: str | None,
    options: dict[str, Any],
    metrics: int | None,
) -> None:
    from rookery.live.dds import DdsOptions
    from rookery.live.metrics import participant_metrics
    from rookery.live.opening import open as open_client
    from rookery.live.transport import DdsReaderOptions

    described = dict(options)
    schema, reader = described.pop("schema"), DdsReaderOptions(**{**described, "key": tuple(described["key"])})
    within = {name: value for name, value in place.items() if name != "domain_id"}
    async with (
        open_client(f"dds://{place['domain_id']}", DdsOptions(**within)) as client,
        client.subscribe(topic, where, overflow="drop-oldest", schema=schema, dds=reader) as events,
        metrics_on(metrics, lambda: participant_metrics(client.dds.udp.participant)),
    ):
        announce(f"joined domain {place['domain_id']} on {place['interface']}, reading {topic}", topic=topic)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for event in events:
                    _write_now(json_text.dumps(event, default=str, ensure_ascii=False))
        if events.dropped:
            announce(f"{events.dropped} events were dropped: the output is slower than the topic")


def _write_now(line: str) -> None:
    """Write a line so that the next program in the pipe has it at once."""
    write(line)
    sys.stdout.flush()


async def _sleep(seconds: float | None) -> None:
    if seconds is None:
        await asyncio.Event().wait()
    else:
        await asyncio.sleep(seconds)


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
        case events.MessageRejected(sender, reason):
            return {"event": "message rejected", "sender": str(sender), "reason": reason}
    return None
