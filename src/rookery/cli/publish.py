"""`rookery publish`: publish events to a topic of a broker network."""

from __future__ import annotations

import asyncio
import json as json_text
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rookery.cli.clients import open_brokers
from rookery.cli.credentials import AuthorityFile, CertificateFile, KeyFile, PrivateKeyFile, read_credentials
from rookery.cli.exit_codes import ExitCode
from rookery.cli.notations import read_addresses
from rookery.cli.options import Brokers, Json, note, write_json
from rookery.errors import BrokerError, EventError

if TYPE_CHECKING:
    from rookery.live.credentials import Credentials

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    """rookery publish quotes '{"symbol": "ACME", "price": 9.5}'""",
    "rookery publish quotes events.jsonl --at 127.0.0.1:7402",
    "tail -f events.jsonl | rookery publish quotes -",
]


def command(
    topic: Annotated[str, typer.Argument(help="The topic.")],
    events: Annotated[
        str, typer.Argument(help="One event as JSON, a file of JSON lines, or - for lines on standard input.")
    ] = "-",
    at: Brokers = None,
    key_file: KeyFile = None,
    certificate: CertificateFile = None,
    private_key: PrivateKeyFile = None,
    authority: AuthorityFile = None,
    seconds: Annotated[float, typer.Option(help="How long to wait for the acknowledgments.", min=0.0)] = 30.0,
    json: Json = False,
) -> int:
    """Publish events, and end when all of them are acknowledged."""
    read_addresses("--at", at)
    credentials = read_credentials(key_file, certificate, private_key, authority)
    count = asyncio.run(_publish(topic, events, at or ["127.0.0.1:7401"], credentials, seconds))
    if json:
        write_json({"topic": topic, "acknowledged": count})
    else:
        note(f"{count} events acknowledged")
    return ExitCode.DONE


async def _publish(topic: str, source: str, brokers: list[str], credentials: Credentials, seconds: float) -> int:
    count = 0
    async with open_brokers(brokers, credentials=credentials) as client:
        lines = _lines(source)
        while True:
            # Off the loop: a pipe may have nothing to say for hours, and the broker must hear from us meanwhile.
            event = await asyncio.to_thread(next, lines, None)
            if event is None:
                break
            count += await client.publish_many(topic, [event])
        try:
            await client.flush(topic, seconds=seconds)
        except TimeoutError:
            raise BrokerError(f"not all of {count} events were acknowledged within {seconds:g} s") from None
    return count


def _lines(source: str) -> Iterator[dict[str, Any]]:
    if source.lstrip().startswith("{"):
        yield _event(source, "the event")
        return
    if source == "-":
        for number, line in enumerate(sys.stdin, 1):
            if line.strip():
                yield _event(line, f"line {number}")
        return
    try:
        with Path(source).open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _event(line, f"{source}, line {number}")
    except OSError as error:
        raise EventError(f"{source}: {error.strerror}; give a file, JSON, or -") from error


def _event(text: str, place: str) -> dict[str, Any]:
    try:
        event = json_text.loads(text)
    except ValueError as error:
        raise EventError(f"{place} is no JSON: {error}") from error
    if not isinstance(event, dict):
        raise EventError(f"{place}: an event is a JSON object")
    return event
