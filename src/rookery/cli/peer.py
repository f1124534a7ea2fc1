"""`rookery peer`: be a peer of the overlay of a topic, print what a subscription wants, publish standard input.

The event space is cut into cells, and all peers must cut it alike: `--space` says how (`space/notation.py`). Attributes
that are not named are not cut.
"""

from __future__ import annotations

import asyncio
import json as json_text
import sys
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rookery.cli.clients import open_overlay
from rookery.cli.credentials import AuthorityFile, CertificateFile, Insecure, KeyFile, PrivateKeyFile, read_credentials
from rookery.cli.exit_codes import ExitCode
from rookery.cli.notations import read_address, read_addresses, read_grid, read_schema
from rookery.cli.operations import LogFormat, announce, set_up_logs
from rookery.cli.options import ADDRESS, Join, NeededSchema, Seconds, Space, Where, write_now
from rookery.errors import EventError, SettingsError

if TYPE_CHECKING:
    from rookery.live.client import Client

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery peer --listen 127.0.0.1:7501 --topic quotes --schema quotes.json --space price:0:1000,symbol",
    "rookery peer --join 127.0.0.1:7501 --topic quotes --schema quotes.json --space price:0:1000,symbol "
    "--where 'price < 10'",
    "rookery peer --join 127.0.0.1:7501 --topic quotes --schema quotes.json --space price:0:1000,symbol "
    "--publish < events.jsonl",
]


def command(
    topic: Annotated[str, typer.Option(help="The topic, the same for all peers.")],
    schema: NeededSchema,
    space: Space,
    listen: Annotated[str, typer.Option(metavar=ADDRESS, help="Where other peers reach this one.")] = "127.0.0.1:0",
    join: Join = None,
    where: Where = None,
    publish: Annotated[bool, typer.Option("--publish", help="Publish the JSON lines of stdin.")] = False,
    arc: Annotated[bool, typer.Option("--arc", help="Pass each event to each peer exactly once.")] = False,
    multicast: Annotated[
        bool, typer.Option("--multicast", help="An event that came from a covering peer does not go up again.")
    ] = False,
    key_file: KeyFile = None,
    certificate: CertificateFile = None,
    private_key: PrivateKeyFile = None,
    authority: AuthorityFile = None,
    insecure: Insecure = False,
    seconds: Seconds = None,
    log_format: LogFormat = "text",
) -> int:
    """Be a peer of an overlay: who wants an event passes it on, and there is no broker.

    Events that --where wants, all without it, are printed as JSON lines. With --publish and no --where nothing is
    printed, and the peer leaves at the end of standard input. --topic, --schema and --space are the same for all peers.
    """
    from rookery.overlay.configuration import OverlayConfiguration

    set_up_logs(log_format)
    if arc and multicast:
        raise SettingsError("--arc and --multicast are two ways to spread an event: give one")
    known = read_schema(schema)
    options: dict[str, Any] = {
        "schema": known,
        "grid": read_grid(space, known),
        "join": read_addresses("--join", join),
        "listen": read_address("--listen", listen),
        "credentials": read_credentials(key_file, certificate, private_key, authority),
        "insecure": insecure,
        "configuration": OverlayConfiguration(arc=arc, downgrade=multicast),
    }
    with suppress(KeyboardInterrupt):
        asyncio.run(_stay(topic, options, where, publish=publish, seconds=seconds))
    return ExitCode.DONE


async def _stay(
    topic: str, options: dict[str, Any], where: str | None, *, publish: bool, seconds: float | None
) -> None:
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(open_overlay(topic, **options))
        work = []
        if where is not None or not publish:
            events = await stack.enter_async_context(client.subscribe(topic, where, overflow="drop-oldest"))
            work.append(asyncio.create_task(_print(events)))
        await client.overlay.settled()
        host, port = client.overlay.address
        announce(f"in the overlay of {topic}; others may --join {host}:{port}")
        source = asyncio.create_task(_publish(client, topic)) if publish else None
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if source is not None:
                    await source
                    await client.flush(topic)
                if source is None or seconds is not None or work:
                    await asyncio.gather(*work, asyncio.Event().wait())
        for task in work:
            task.cancel()


async def _print(events: Any) -> None:
    async for event in events:
        write_now(json_text.dumps(event, default=str, ensure_ascii=False))


async def _publish(client: Client, topic: str) -> None:
    """Publish the lines of standard input, each a JSON object; say which one is none, and go on."""
    number = 0
    while line := await asyncio.to_thread(sys.stdin.readline):
        number += 1
        if not line.strip():
            continue
        try:
            event = json_text.loads(line)
            if not isinstance(event, dict):
                raise EventError("an event is a JSON object")
            client.publish(topic, event)
        except ValueError as error:
            announce(f"line {number} is not published: {error}")
