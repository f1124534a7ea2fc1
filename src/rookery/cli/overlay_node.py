"""`rookery node --routing overlay`: be a peer of the overlay, print what a subscription wants, publish standard input.

The event space is cut into cells, and all peers must cut it alike: `--space` says how (`space/notation.py`). Attributes
that are not named are not cut.
"""

from __future__ import annotations

import asyncio
import json as json_text
import sys
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rookery.cli.keys import read_key
from rookery.cli.options import note, write
from rookery.cli.rules import read_cuts
from rookery.errors import EventError, SettingsError
from rookery.model import Schema
from rookery.space.notation import read_grid

if TYPE_CHECKING:
    from rookery.live.client import Client

__all__ = ["Ways", "run"]


@dataclass(frozen=True, slots=True)
class Ways:
    """How to reach others, and how they reach us."""

    join: list[str]
    listen: str
    key_file: Path | None


def run(
    topic: str | None,
    schema: str | None,
    space: str | None,
    where: str | None,
    *,
    ways: Ways,
    publish: bool,
    arc: bool,
    multicast: bool,
    seconds: float | None,
) -> None:
    """Be a peer until Ctrl-C, or for so many seconds, or until the end of standard input."""
    if topic is None or schema is None or space is None:
        raise SettingsError(
            "an overlay needs --topic, --schema and --space, the same for all its peers, for example "
            "--topic quotes --schema 'symbol:string,price:float64' --space price:0:100,symbol"
        )
    if arc and multicast:
        raise SettingsError("--arc and --multicast are two ways to spread an event: give one")
    from rookery.live.brokers.settings import parse_address
    from rookery.overlay.configuration import OverlayConfiguration

    known = Schema.read(schema)
    options: dict[str, Any] = {
        "topic": topic,
        "schema": known,
        "grid": read_grid(read_cuts(space), known),
        "listen": parse_address(ways.listen),
        "key": read_key(ways.key_file),
        "configuration": OverlayConfiguration(arc=arc, downgrade=multicast),
    }
    with suppress(KeyboardInterrupt):
        asyncio.run(_stay(ways.join, options, where, publish=publish, seconds=seconds))


async def _stay(
    join: list[str], options: dict[str, Any], where: str | None, *, publish: bool, seconds: float | None
) -> None:
    from rookery.live.opening import open as open_client
    from rookery.live.overlay import OverlayOptions

    async with AsyncExitStack() as stack:
        opening = open_client(f"overlay://{','.join(join)}", OverlayOptions(**options))
        client = await stack.enter_async_context(opening)
        node = client.overlay
        work = []
        if where is not None or not publish:
            events = await stack.enter_async_context(client.subscribe(node.topic, where, overflow="drop-oldest"))
            work.append(asyncio.create_task(_print(events)))
        await node.settled()
        host, port = node.address
        note(f"in the overlay of {node.topic}; others may --join {host}:{port}")
        source = asyncio.create_task(_publish(client)) if publish else None
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if source is not None:
                    await source
                    await client.flush(node.topic)
                if source is None or seconds is not None or work:
                    await asyncio.gather(*work, asyncio.Event().wait())
        for task in work:
            task.cancel()


async def _print(events: Any) -> None:
    async for event in events:
        write(json_text.dumps(event, default=str, ensure_ascii=False))
        sys.stdout.flush()


async def _publish(client: Client) -> None:
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
            client.publish(client.overlay.topic, event)
        except ValueError as error:
            note(f"line {number} is not published: {error}")
