"""`rookery gateway`: be the gateway of a site, and print its topic's events or what becomes of the sites."""

from __future__ import annotations

import asyncio
import json as json_text
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from rookery.cli.clients import open_site, read_topic
from rookery.cli.credentials import AuthorityFile, CertificateFile, Insecure, KeyFile, PrivateKeyFile, read_credentials
from rookery.cli.exit_codes import ExitCode
from rookery.cli.notations import read_address, read_addresses, read_schema
from rookery.cli.operations import LogFormat, MetricsPort, announce, metrics_on, set_up_logs
from rookery.cli.options import (
    ADDRESS,
    BestEffort,
    DomainId,
    Interface,
    Join,
    Json,
    LimitTexts,
    MulticastData,
    NodeName,
    NoMulticast,
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
from rookery.errors import JoinError, SettingsError

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery gateway --island site-a --listen 192.0.2.1:7501 "
    "--certificate keys/a.pem --private-key keys/a.key --authority keys/authority.pem",
    "rookery gateway --island site-b --listen 192.0.2.2:7501 --join 192.0.2.1:7501 --insecure --record site-b.jsonl",
    "rookery gateway --island site-c --join 192.0.2.1:7501 --topic quotes --schema quotes.json --where 'price < 10'",
]


def command(
    island: Annotated[str, typer.Option(help="The name of this site.")],
    listen: Annotated[
        str | None, typer.Option(metavar=ADDRESS, help="Where the gateways of other sites reach this one.")
    ] = None,
    join: Join = None,
    domain_id: DomainId = 0,
    interface: Interface = "lo",
    peer: Peers = None,
    no_multicast: NoMulticast = False,
    multicast_data: MulticastData = False,
    limit: LimitTexts = None,
    name: NodeName = "rookery gateway",
    topic: Annotated[str | None, typer.Option(help="Print the events of this topic.")] = None,
    where: Where = None,
    schema: SchemaText = None,
    type_name: TypeName = None,
    key: TopicKey = None,
    best_effort: BestEffort = False,
    transient_local: TransientLocal = False,
    key_file: KeyFile = None,
    certificate: CertificateFile = None,
    private_key: PrivateKeyFile = None,
    authority: AuthorityFile = None,
    insecure: Insecure = False,
    record: Annotated[Path | None, typer.Option(help="Record the site for `rookery serve`.")] = None,
    seconds: Seconds = None,
    log_format: LogFormat = "text",
    metrics: MetricsPort = None,
    json: Json = False,
) -> int:
    """Be the gateway of a site: what participants here and at other sites have for each other crosses, nothing else.

    With --topic the events of the topic are printed as JSON lines, and the filter acts at the site of the writer.
    Without --schema the type is learned from an endpoint of this site, and the filter acts here.
    Without --topic the sites that are reached are printed, with --json all counters too. One site has one gateway.
    """
    set_up_logs(log_format)
    if topic is None:
        refuse_unused(
            "where", "schema", "type_name", "key", "best_effort", "transient_local",
            where="without --topic", instead="give --topic too",
        )  # fmt: skip
        options: dict[str, Any] = {}
    else:
        refuse_unused("json", where="on a gateway that reads a topic", instead="its events are JSON lines already")
        quality = {"reliable": not best_effort, "transient_local": transient_local}
        if schema is None:
            refuse_unused(
                "type_name", "key", where="where the type is learned", instead="give --schema too, or neither"
            )
        options = {
            "schema": None if schema is None else read_schema(schema),
            "type_name": type_name,
            "key": key or (),
            **quality,
        }
    if not listen and not join:
        raise SettingsError("a gateway alone joins nothing: give --listen HOST:PORT, --join HOST:PORT or both")
    place = {
        "listen": None if listen is None else read_address("--listen", listen),
        "join": read_addresses("--join", join),
        "credentials": read_credentials(key_file, certificate, private_key, authority),
        "insecure": insecure,
        "domain_id": domain_id,
        "interface": interface,
        "name": name,
        **reached(peer, no_multicast, limit, multicast_data=multicast_data),
    }
    asyncio.run(_run(island, topic, where, options, place, seconds, json=json, record=record, metrics=metrics))
    return ExitCode.DONE


async def _run(
    site: str,
    topic: str | None,
    where: str | None,
    options: dict[str, Any],
    place: dict[str, Any],
    seconds: float | None,
    *,
    json: bool,
    record: Path | None,
    metrics: int | None,
) -> None:
    """Run until the time is over, a signal comes, or a newer gateway of the same site takes over."""
    from rookery.live.metrics import island_metrics

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(open_site(site, **place))
        island = client.island
        where_to = f", listening at {island.address[0]}:{island.address[1]}" if island.address else ""
        announce(f"gateway of {site} in domain {place['domain_id']} on {place['interface']}{where_to}")
        if topic is not None:
            if options["schema"] is None:
                announce(f"no --schema: waiting for somebody at this site who announces what {topic} is")
                options["schema"] = await _learned(island, topic, stop, seconds)
                if options["schema"] is None:
                    return
            events = await stack.enter_async_context(read_topic(client, topic, where, options))
            printing = asyncio.create_task(_print_events(events))
        else:
            printing = asyncio.create_task(_print_sites(island, json=json))
        stack.callback(printing.cancel)
        await stack.enter_async_context(metrics_on(metrics, lambda: island_metrics(island)))
        if record is not None:
            from rookery.web.producers.islands import watch_island
            from rookery.web.recorder import Recorder

            recorder = stack.enter_context(Recorder(record, title=site))
            stack.callback(asyncio.create_task(watch_island(recorder, island)).cancel)
        ends_now = [asyncio.create_task(stop.wait()), asyncio.create_task(island.taken_over.wait())]
        await asyncio.wait(ends_now, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in ends_now:
            task.cancel()
        if island.taken_over.is_set():
            raise JoinError(
                f"another gateway of {site} is newer: one site has one gateway; give the other its own name"
            )


async def _learned(island: Any, topic: str, stop: asyncio.Event, seconds: float | None) -> Any:
    """Return the type that an endpoint of the site announces for a topic; None if the gateway is to stop before."""
    learning = asyncio.ensure_future(island.dds.learn(topic))
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait([learning, stopping], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if learning.done():
        return learning.result()
    learning.cancel()
    return None


async def _print_events(events: Any) -> None:
    async for event in events:
        write_now(json_text.dumps(event, default=str, ensure_ascii=False))


async def _print_sites(island: Any, *, json: bool) -> None:
    """Print the sites whenever they have changed; with --json the counters as well, once a second."""
    last = ""
    while True:
        status = island.status()
        reached = sorted(site for site, of in status["sites"].items() if of["reached by"])
        line = json_text.dumps(status) if json else f"reached: {', '.join(reached) or 'no site'}"
        if line != last:
            write_now(line)
            last = line
        await asyncio.sleep(1)
