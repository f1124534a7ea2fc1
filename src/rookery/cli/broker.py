"""`rookery broker`: run a broker of a topic, ask the brokers of a network how they are, or share its zones anew."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rookery.cli.exit_codes import ExitCode
from rookery.cli.keys import read_key
from rookery.cli.operations import LogFormat, MetricsPort, announce, metrics_on, set_up_logs
from rookery.cli.options import Json, SchemaText, write, write_json
from rookery.errors import SettingsError

if TYPE_CHECKING:
    from rookery.live.brokers.settings import BrokerSettings

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery broker --listen 127.0.0.1:7401 --topic quotes --schema quotes.json --space price:0:1000,symbol",
    "rookery broker --listen 127.0.0.1:7402 --join 127.0.0.1:7401 --topic quotes --schema quotes.json "
    "--space price:0:1000,symbol",
    "rookery broker status --at 127.0.0.1:7401 --json",
    "rookery broker tree --at 127.0.0.1:7401 > tree.json",
    "rookery broker resplit --at 127.0.0.1:7401 --tree tree.json",
]


def command(
    action: Annotated[
        str,
        typer.Argument(
            help="`run` a broker, show the `status` of a network, print its `tree`, or `resplit` its zones."
        ),
    ] = "run",
    listen: Annotated[str, typer.Option(help="Where others reach this broker: an IPv4 address and a port.")] = "",
    join: Annotated[list[str] | None, typer.Option(help="A broker of the network to join; may be repeated.")] = None,
    topic: Annotated[str, typer.Option(help="The topic.")] = "",
    schema: SchemaText = None,
    space: Annotated[
        str,
        typer.Option(help="The attributes that span the space: price:0:1000,symbol; or a file with a tree of them."),
    ] = "",
    data: Annotated[
        Path | None, typer.Option(help="The folder of the log; one under ~/.local/state/rookery by default.")
    ] = None,
    durability: Annotated[
        str,
        typer.Option(help="When an event is accepted: on two-disks (owner and backup), or less: one-disk, memory."),
    ] = "two-disks",
    beat: Annotated[float, typer.Option(help="Seconds between signs of life; the same at every broker.")] = 1.0,
    refresh: Annotated[
        float, typer.Option(help="Seconds until subscriptions are sent again; the same at every broker.")
    ] = 60.0,
    backlog: Annotated[
        int, typer.Option(help="Events kept for a subscription whose client is slow or away.")
    ] = 100_000,
    engine: Annotated[str, typer.Option(help="What matches: bitmap, matrix, index, counting or scan.")] = "bitmap",
    key_file: Annotated[
        Path | None, typer.Option(help="A file with the key that all brokers and clients share.")
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="For TLS: this broker's certificate, PEM.")] = None,
    private_key: Annotated[Path | None, typer.Option(help="For TLS: the certificate's key, PEM.")] = None,
    authority: Annotated[
        Path | None, typer.Option(help="For TLS: who must have signed the others' certificates, PEM.")
    ] = None,
    log_format: LogFormat = "text",
    metrics: MetricsPort = None,
    at: Annotated[
        str, typer.Option(help="With `status`, `tree` and `resplit`: any broker of the network.")
    ] = "127.0.0.1:7401",
    tree: Annotated[
        Path | None,
        typer.Option(help="With `resplit`: a K-D tree of the events, or rows of Spark's zone_stats as JSON."),
    ] = None,
    json: Json = False,
) -> int:
    """Run a broker of a topic until it is told to stop, show the status or the zones of a network, or share them anew.

    Brokers divide the events of a topic among themselves by content. Clients use any of them. Without TLS everything is
    sent in the clear, and with a key strangers stay out but can still listen: use loopback or a network you trust.
    """
    set_up_logs(log_format)
    if action == "status":
        return _status(at, key_file, json)
    if action == "tree":
        return _tree(at, key_file)
    if action == "resplit":
        return _resplit(at, tree, key_file, json)
    if action != "run":
        raise SettingsError(f"{action!r} is neither run nor status nor tree nor resplit")
    missing = [name for name, value in (("listen", listen), ("topic", topic), ("space", space)) if not value]
    if missing or not schema:
        raise SettingsError(
            f"a broker needs {', '.join('--' + name for name in (*missing, *(() if schema else ('schema',))))}"
        )
    from rookery.brokers.configuration import BrokerDurability
    from rookery.cli.rules import read_cuts
    from rookery.live.brokers.settings import BrokerSettings, parse_address, tls_contexts
    from rookery.model import Schema
    from rookery.space.notation import read_space

    try:
        promise = BrokerDurability(durability)
    except ValueError:
        raise SettingsError(f"{durability!r}: say two-disks, one-disk or memory") from None
    address = parse_address(listen)
    tls = None
    if certificate is not None or private_key is not None:
        if certificate is None or private_key is None:
            raise SettingsError("TLS needs --certificate and --private-key")
        tls = tls_contexts(certificate, private_key, authority)
    settings = BrokerSettings(
        topic=topic,
        space=read_space(read_cuts(space), Schema.read(schema)),
        listen=address,
        join=tuple(map(parse_address, join or ())),
        data=data or _state_folder(topic, address),
        durability=promise,
        beat=beat,
        refresh=refresh,
        backlog=backlog,
        engine=engine,
        key=read_key(key_file),
        tls=tls,
    )
    asyncio.run(_run(settings, metrics))
    return ExitCode.DONE


async def _run(settings: BrokerSettings, metrics: int | None) -> None:
    from rookery.live.brokers.server import LiveBroker
    from rookery.live.metrics import broker_metrics

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    broker = LiveBroker(settings)
    await broker.start()
    host, port = broker.address
    announce(f"broker of {settings.topic} on {host}:{port}, {settings.durability.value}; stop it with Ctrl-C")
    async with metrics_on(metrics, lambda: broker_metrics(broker)):
        await stop.wait()
    announce("handing the zones over")
    await broker.stop()


def _state_folder(topic: str, address: tuple[str, int]) -> Path:
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "rookery" / "brokers" / f"{topic.replace('/', '_')}-{address[0]}-{address[1]}"


def _status(at: str, key_file: Path | None, json: bool) -> int:
    from rookery.live.brokers.resplit import ask_all

    documents = asyncio.run(ask_all(at, read_key(key_file)))
    if json:
        write_json(documents)
        return ExitCode.DONE
    for one in documents:
        zones = ", ".join(f"{zone['path'] or 'all'} ({zone['events']} events)" for zone in one["zones"]) or "no zone"
        write(
            f"{one['broker']}  zones {zones}  subscriptions {sum(zone['subscriptions'] for zone in one['zones'])}  "
            f"clients {one['clients']}  backup {one['backup'] or '-'}  in flight {one['in_flight']['events']}"
        )
    return ExitCode.DONE


def _tree(at: str, key_file: Path | None) -> int:
    from rookery.live.brokers.resplit import ask_all, network_tree

    write(network_tree(asyncio.run(ask_all(at, read_key(key_file))))[0].to_json())
    return ExitCode.DONE


def _resplit(at: str, tree: Path | None, key_file: Path | None, json: bool) -> int:
    from rookery.live.brokers.resplit import read_statistics, resplit

    if tree is None:
        raise SettingsError("resplit needs --tree: a file with a K-D tree, or with rows of zone_stats")
    try:
        statistics = read_statistics(tree.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{tree}: {error}") from error
    done = asyncio.run(resplit(at, *statistics, key=read_key(key_file), told=announce))
    if json:
        write_json({"moves": done.moves, "zones": done.zones})
    else:
        write(f"{done.moves} moves; " + ", ".join(f"{address} {zone}" for address, zone in sorted(done.zones.items())))
    return ExitCode.DONE
