"""A process with some peers of the overlay, told what to do line by line: `python overlay_session.py SETTINGS`.

SETTINGS is JSON: the space, the conditions of the peers (one for each), and the address to join through, if any. The
process says where the `first` peer is if that is the first of all, and `ready` when all its peers are in place; then it
answers each line of standard input.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from typing import Any

import rookery
from rookery import Client, OverlayOptions, Schema
from rookery.live.credentials import Credentials
from rookery.live.overlay import OverlayTransport
from rookery.overlay.configuration import OverlayConfiguration
from rookery.space.grid import CategoricalAxis, Grid, NumericAxis

SCHEMA = Schema(number=int, symbol=str, price=float)


def grid_of(space: dict[str, Any]) -> Grid:
    return Grid([CategoricalAxis("symbol", tuple(space["symbols"])), NumericAxis("price", tuple(space["edges"]))])


class Session:
    def __init__(self) -> None:
        self.nodes: list[Client] = []
        self.received: list[list[int]] = []
        self.readers: list[asyncio.Task[None]] = []

    async def read(self, events: Any, into: list[int]) -> None:
        async for event in events:
            into.append(event["number"])

    async def answer(self, line: dict[str, Any]) -> dict[str, Any]:
        if "publish" in line:
            for place, event in line["publish"]:
                self.nodes[place].publish("quotes", event)
                await asyncio.sleep(0.001)
            for node in self.nodes:
                await node.flush("quotes", seconds=600)
            return {"published": len(line["publish"])}
        if "report" in line:
            return {"received": self.received}
        if "state" in line:
            return {"states": [describe(node.overlay) for node in self.nodes]}
        await self.nodes[line["leave"]].close()
        return {"left": line["leave"]}


def describe(node: OverlayTransport) -> dict[str, Any]:
    """Say what the tests compare with an oracle: who speaks where, and who it takes to be next on each of its rings."""
    state = node.peer.machine.state
    rings = {cell: state.table.ring_next(cell) for cell in sorted(state.own.cells)}
    return {
        "node": node.peer.node,
        "phase": state.phase.name,
        "position": str(state.own.position),
        "next": [(cell, None if after is None else after.node) for cell, after in rings.items()],
        "known": sorted(state.table.known),
        "primary": None if state.primary is None else state.primary.node,
        "members": [one.node for one in state.members],
        "directory": [
            (cell, [one.node for one in held])
            for cell, held in state.directory.select(lambda cell: True, now=node.peer.now())[0].items()
        ],
        "counters": dict(node.peer.counters),
    }


async def main(settings: dict[str, Any]) -> None:
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    session = Session()
    join = settings["join"]
    configuration = OverlayConfiguration(heartbeat=settings["heartbeat"], arc=settings["arc"], request_timeout=300_000)
    async with AsyncExitStack() as stack:
        for where in settings["conditions"]:
            node = await stack.enter_async_context(
                rookery.open(
                    "overlay://{}:{}".format(*join) if join else "overlay://",
                    OverlayOptions(
                        topic="quotes",
                        schema=SCHEMA,
                        grid=grid_of(settings["space"]),
                        configuration=configuration,
                        credentials=Credentials(b"a key of the test's peers"),
                    ),
                )
            )
            events = await stack.enter_async_context(
                node.subscribe("quotes", where, overflow="drop-oldest", queue=1_000_000)
            )
            session.nodes.append(node)
            session.received.append([])
            session.readers.append(asyncio.create_task(session.read(events, session.received[-1])))
            if join is None:
                join = node.overlay.address
                say({"first": join})
        say({"ready": [node.overlay.address for node in session.nodes]})
        while line := await lines.readline():
            say(await session.answer(json.loads(line)))
        for reader in session.readers:
            reader.cancel()


def say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
