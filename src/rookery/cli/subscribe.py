"""`rookery subscribe`: print the events of a topic of a broker network that a condition, or a table of them, wants."""

from __future__ import annotations

import asyncio
import json as json_text
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from rookery.cli.clients import open_brokers
from rookery.cli.credentials import AuthorityFile, CertificateFile, KeyFile, PrivateKeyFile, read_credentials
from rookery.cli.exit_codes import ExitCode
from rookery.cli.notations import read_addresses
from rookery.cli.options import Brokers, Dialect, IdType, Seconds, note, note_quarantined, state_folder, write_now
from rookery.cli.unused import refuse_unused
from rookery.errors import SettingsError

if TYPE_CHECKING:
    from rookery.live.client import Client
    from rookery.live.credentials import Credentials
    from rookery.live.subscription import Subscription

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery subscribe quotes \"price < 10 AND symbol = 'ACME'\"",
    "rookery subscribe quotes --at 127.0.0.1:7402 --count 100 > some.jsonl",
    "rookery subscribe quotes --subscriptions rules.csv",
    'rookery subscribe quotes "price < 10" --durable cheap',
    'rookery subscribe quotes "price < 0x1F" --dialect jms',
]


def command(
    topic: Annotated[str, typer.Argument(help="The topic.")],
    where: Annotated[str, typer.Argument(help="A WHERE clause; every event without one.")] = "",
    subscriptions: Annotated[
        Path | None,
        typer.Option("--subscriptions", "-s", help="Rules: CSV, TSV, JSON lines, Parquet or Arrow, file or folder."),
    ] = None,
    id_type: IdType = None,
    dialect: Dialect = None,
    at: Brokers = None,
    durable: Annotated[
        str | None, typer.Option(help="Let brokers keep what comes while this does not run, under a name.")
    ] = None,
    session: Annotated[
        Path | None, typer.Option(help="The file that makes it the client it was; by the name in your state folder.")
    ] = None,
    count: Annotated[int | None, typer.Option(help="Stop after so many events.", min=1)] = None,
    seconds: Seconds = None,
    key_file: KeyFile = None,
    certificate: CertificateFile = None,
    private_key: PrivateKeyFile = None,
    authority: AuthorityFile = None,
) -> int:
    """Print events as JSON lines, each once, as they come; with --subscriptions, each with the rule that wants it.

    With --durable brokers keep what comes while this does not run, for an hour at the most; it is printed at the next
    start under the same name.
    """
    table = None
    if subscriptions is None:
        refuse_unused("id_type", where="without --subscriptions", instead="give --subscriptions too")
    if subscriptions is not None:
        from rookery.model.tables import read_subscriptions

        if where:
            raise SettingsError("give a WHERE clause or --subscriptions, not both")
        table = read_subscriptions(subscriptions, id_type=id_type, dialect=dialect)
    elif not where:
        refuse_unused("dialect", where="without a condition", instead="give one, or --subscriptions")
    elif dialect is not None:
        from rookery.model.dialects import translate

        where = translate(dialect, where).where
    if durable is None:
        refuse_unused("session", where="without --durable", instead="give --durable too")
    elif session is None:
        session = state_folder() / "sessions" / f"{quote(durable, safe='')}.session"
    read_addresses("--at", at)
    wanted = Wanted(topic, where, table, count, seconds, durable, session)
    credentials = read_credentials(key_file, certificate, private_key, authority)
    return asyncio.run(_subscribe(wanted, at or ["127.0.0.1:7401"], credentials))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for: a condition or a table of subscriptions, and when it is enough."""

    topic: str
    where: str
    table: Any
    count: int | None
    seconds: float | None
    #: The name under which it is kept, and the file that makes this the client that it was.
    durable: str | None
    session: Path | None


async def _subscribe(wanted: Wanted, brokers: list[str], credentials: Credentials) -> int:
    work = asyncio.current_task()
    assert work is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, work.cancel)
    printed = 0
    try:
        opening = open_brokers(brokers, credentials=credentials, session=wanted.session)
        async with asyncio.timeout(wanted.seconds), opening as client:
            feed, named = _open(client, wanted)
            if feed is None:
                return ExitCode.FAILED
            async with feed as events:
                note(f"subscribed to {wanted.topic}")
                async for event in events:
                    write_now(json_text.dumps(named(event), default=str, ensure_ascii=False))
                    printed += 1
                    if wanted.count is not None and printed >= wanted.count:
                        break
    except (TimeoutError, asyncio.CancelledError):
        pass
    note(f"{printed} events")
    return ExitCode.DONE


def _open(client: Client, wanted: Wanted) -> tuple[Subscription[Any] | None, Callable[[Any], Any]]:
    """Open what is wanted; return the feed, none if no subscription is left, and how an event is shown."""
    from rookery.live.brokers.subscriptions import opening

    if wanted.table is None:
        return client.subscribe(
            wanted.topic, wanted.where, overflow="wait", durable=wanted.durable
        ), lambda event: event
    assert client.brokers.schema is not None  # a client that is let in has it
    found = opening(wanted.table, client.brokers.schema, topic=wanted.topic)
    note_quarantined({"subscription_id": one.subscription_id, "reason": one.message} for one in found.faults)
    for name, reason in found.left_out.items():
        note(f"not opened {name!r}: {reason}")
    if not found.conditions:
        note(f"no subscription is left for {wanted.topic}")
        return None, lambda event: event
    feeds = client.subscribe_many(wanted.topic, found.conditions, overflow="wait", durable=wanted.durable)
    return feeds, lambda pair: {"subscription_id": found.ids[pair[0]], "event": pair[1]}
