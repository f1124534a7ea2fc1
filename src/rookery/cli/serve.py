"""`rookery serve`: the page, for a recorded run or for what happens now."""

from __future__ import annotations

import asyncio
import json as json_text
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rookery.cli.credentials import AuthorityFile, CertificateFile, KeyFile, PrivateKeyFile, read_credentials
from rookery.cli.exit_codes import ExitCode
from rookery.cli.notations import read_address
from rookery.cli.operations import LogFormat, MetricsPort, announce, metrics_on, set_up_logs
from rookery.cli.options import ADDRESS, Json, Seconds, note
from rookery.cli.unused import refuse_unused
from rookery.errors import SettingsError
from rookery.extras import need

if TYPE_CHECKING:
    from rookery.live.credentials import Credentials
    from rookery.web.broadcast import Broadcast
    from rookery.web.recorder import Recorder

__all__ = ["EXAMPLES", "command", "serve_while"]

EXAMPLES = [
    "rookery serve run.jsonl",
    "rookery serve run.jsonl --speed 4 --loop",
    "rookery serve --domain-id 0 --record run.jsonl",
    "rookery serve --broker 127.0.0.1:7401 --examples",
    "rookery serve --simulate --brokers 200 --rate 300",
    "rookery serve --follow a.jsonl b.jsonl",
    "rookery serve --host 0.0.0.0 --token SECRET --json",
]


def command(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN", help="A recorded run; without one the page is live.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="The files are being written: show what comes, of all of them.")
    ] = False,
    domain_id: Annotated[int | None, typer.Option(help="Watch a DDS domain; live without files: 0.")] = None,
    interface: Annotated[str, typer.Option(help="The network interface of the domain.")] = "lo",
    broker: Annotated[
        str | None, typer.Option(metavar=ADDRESS, help="Watch a live broker network, through one of its brokers.")
    ] = None,
    key_file: KeyFile = None,
    certificate: CertificateFile = None,
    private_key: PrivateKeyFile = None,
    authority: AuthorityFile = None,
    examples: Annotated[
        bool, typer.Option("--examples", help="Subscribe to all events of the brokers, to show them.")
    ] = False,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Run simulated participants and brokers, and show them.")
    ] = False,
    brokers: Annotated[int, typer.Option(help="Simulated brokers.", min=1, max=5_000)] = 64,
    participants: Annotated[int, typer.Option(help="Simulated participants.", min=0, max=2_000)] = 60,
    rate: Annotated[int, typer.Option(help="Simulated events a second.", min=0, max=100_000)] = 100,
    record: Annotated[Path | None, typer.Option(help="Append what is shown live to this file.")] = None,
    speed: Annotated[float, typer.Option(help="Of a replay: 0.1 to 100.")] = 1.0,
    loop: Annotated[bool, typer.Option("--loop", help="Begin a replay again at its end.")] = False,
    host: Annotated[str, typer.Option(help="The address to serve on; beyond this machine only with a token.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port; 0 for any.", min=0, max=65_535)] = 8_765,
    token: Annotated[str | None, typer.Option(help="What a reader must have; it is part of the link.")] = None,
    name: Annotated[list[str] | None, typer.Option(help="A host name under which the page is opened.")] = None,
    seconds: Seconds = None,
    log_format: LogFormat = "text",
    metrics: MetricsPort = None,
    json: Json = False,
) -> int:
    """Serve the page: a recorded run as a replay, or live a DDS domain, a simulation, or files that grow.

    The address is printed on stderr, and with --json as {"url": …} on stdout before anything else.
    """
    set_up_logs(log_format)
    files = runs or []
    live = follow or not files
    if token is not None and (not token.isascii() or not token.replace("-", "").replace("_", "").isalnum()):
        raise SettingsError("a token is made of letters, digits, - and _, so that it fits into a link")
    if follow and not files:
        raise SettingsError("--follow needs a file")
    if len(files) > 1 and not follow:
        raise SettingsError("a replay is of one file; --follow takes several")
    if files:
        refuse_unused(
            "domain_id", "interface", "broker", "examples", "simulate", "brokers", "participants", "rate", "record",
            "key_file", "certificate", "private_key", "authority",
            where="on files, which are records already", instead="leave the files out to watch what is live",
        )  # fmt: skip
    if not files or follow:
        refuse_unused("speed", "loop", where="on what is live", instead="give one recorded run without --follow")
    watched = domain_id if domain_id is not None or simulate or broker else 0
    if watched is None:
        refuse_unused("interface", where="without a DDS domain", instead="give --domain-id too")
    if broker is None:
        refuse_unused(
            "examples", "key_file", "certificate", "private_key", "authority",
            where="without --broker", instead="give --broker too",
        )  # fmt: skip
    else:
        read_address("--broker", broker)
    if not simulate:
        refuse_unused("brokers", "participants", "rate", where="without --simulate", instead="give --simulate too")
    need("starlette", "the page")
    need("uvicorn", "the page")
    from rookery.web.application import application
    from rookery.web.broadcast import Broadcast
    from rookery.web.replay import Replay
    from rookery.web.serving import bind, link, serve

    bound = bind(host, port, token=token)
    try:
        replay = None if live else Replay(files[0], speed=speed, loop=loop)
    except BaseException:
        bound.close()
        raise
    broadcast = Broadcast(status=lambda: {"mode": "live"}) if replay is None else replay.broadcast
    url = link(bound, host=host, token=token)
    beside: list[Callable[[], Awaitable[None]]] = [broadcast.run]
    recorder: Recorder | None = None
    if follow:
        beside += [_tail(broadcast, path) for path in files]
    elif replay is not None:
        beside.append(replay.run)
    else:
        from rookery.web.recorder import Recorder

        recorder = Recorder(record, title=_title(simulate, broker, watched), listener=broadcast.feed)
        if simulate:
            beside.append(_simulation(recorder, brokers, participants, rate))
        if broker is not None:
            credentials = read_credentials(key_file, certificate, private_key, authority)
            beside.append(_brokers(recorder, broker, credentials, examples))
        if watched is not None:
            beside.append(_domain(recorder, watched, interface))

    def ready() -> None:
        if json:
            sys.stdout.write(json_text.dumps({"url": url}) + "\n")  # one line: the next program reads it at once
            sys.stdout.flush()
        announce(f"{url}  Ctrl-C stops", url=url)

    app = application(broadcast, host=host, token=token, names=name or (), replay=replay)
    try:
        ended = asyncio.run(_serve(serve(app, bound, beside=beside, seconds=seconds, ready=ready), broadcast, metrics))
    finally:
        if recorder is not None:
            recorder.close()
        if replay is not None:
            replay.close()
    return ExitCode.INTERRUPTED if ended is signal.SIGINT else ExitCode.DONE


def _title(simulate: bool, broker: str | None, domain_id: int | None) -> str:
    """Say what the page shows; what is simulated says so."""
    parts = ["a simulated network"] if simulate else []
    parts += [f"brokers at {broker}"] if broker is not None else []
    parts += [f"DDS domain {domain_id}"] if domain_id is not None else []
    return ", ".join(parts)


async def _serve(
    serving: Coroutine[Any, Any, signal.Signals | None], broadcast: Broadcast, metrics: int | None
) -> signal.Signals | None:
    from rookery.live.metrics import Metric, measured

    def collect() -> list[Metric]:
        state = broadcast.state
        sizes = {name: len(table) for name, table in state.tables.items()}
        taken = {"events": state.events, "refused": state.refused, "rejected": state.rejected}
        return [
            measured("page_records_total", taken),
            measured("page_entries", sizes),
            measured("page_readers", broadcast.pages),
        ]

    try:
        async with metrics_on(metrics, collect):
            return await serving
    finally:
        serving.close()


def serve_while(work: Callable[[Recorder], int], *, port: int, record: Path | None = None) -> int:
    """Do some work in a thread while the page shows it; the page stays open after it. Return what the work returns."""
    from rookery.web.application import application
    from rookery.web.broadcast import Broadcast
    from rookery.web.recorder import Recorder
    from rookery.web.serving import bind, link, serve

    broadcast = Broadcast(status=lambda: {"mode": "live"})
    bound = bind("127.0.0.1", port, token=None)
    url = link(bound, host="127.0.0.1", token=None)
    results: list[int] = []
    with Recorder(record, title="rookery demo", listener=broadcast.feed) as recorder:

        async def run() -> None:
            results.append(await asyncio.to_thread(work, recorder))
            sys.stdout.flush()
            note(f"the page stays open at {url}  Ctrl-C ends it")

        asyncio.run(serve(application(broadcast), bound, beside=[broadcast.run, run], ready=lambda: note(url)))
    return results[0] if results else ExitCode.INTERRUPTED


def _tail(broadcast: Broadcast, path: Path) -> Callable[[], Awaitable[None]]:
    from rookery.web.runs import RunTail

    return RunTail(path, feed=broadcast.feed, reject=broadcast.reject).run


def _domain(recorder: Recorder, domain_id: int, interface: str) -> Callable[[], Awaitable[None]]:
    from rookery.web.producers.domain import watch_domain

    return lambda: watch_domain(recorder, domain_id=domain_id, interface=interface)


def _brokers(recorder: Recorder, entry: str, credentials: Credentials, examples: bool) -> Callable[[], Awaitable[None]]:
    from rookery.web.producers.live_brokers import watch_brokers

    return lambda: watch_brokers(recorder, entry=entry, credentials=credentials, examples=examples)


def _simulation(recorder: Recorder, brokers: int, participants: int, rate: int) -> Callable[[], Awaitable[None]]:
    import threading

    from rookery.web.producers.simulation import Scenario, Simulation

    async def run() -> None:
        ended = threading.Event()
        failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        scenario = Scenario(brokers=brokers, participants=participants, rate=rate)

        def simulate() -> None:
            try:
                Simulation(scenario, recorder).follow_clock(ended)
            except BaseException as error:
                failed.get_loop().call_soon_threadsafe(failed.set_exception, error)

        # A daemon: a large network takes a while to settle, and who stops the page does not want to wait for it.
        threading.Thread(target=simulate, name="rookery-simulation", daemon=True).start()
        try:
            await failed
        finally:
            ended.set()

    return run
