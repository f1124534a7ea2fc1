"""`rookery broker`: run a broker of a topic, ask the brokers of a network how they are, or share its zones anew."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rookery.cli.credentials import (
    AuthorityFile,
    CertificateFile,
    Insecure,
    KeyFile,
    PrivateKeyFile,
    read_credentials,
    read_key,
)
from rookery.cli.exit_codes import ExitCode
from rookery.cli.notations import read_address, read_addresses, read_schema, read_space
from rookery.cli.operations import LogFormat, MetricsPort, announce, metrics_on, set_up_logs
from rookery.cli.options import ADDRESS, Join, Json, SchemaText, Space, state_folder, write, write_json
from rookery.cli.unused import refuse_all_but, refuse_unused
from rookery.errors import SettingsError

if TYPE_CHECKING:
    from rookery.live.brokers.settings import BrokerSettings
    from rookery.live.credentials import Credentials

__all__ = ["EXAMPLES", "command"]

Action = Literal["run", "status", "tree", "resplit"]

EXAMPLES = [
    "rookery broker --listen 127.0.0.1:7401 --topic quotes --schema quotes.json --space price:0:1000,symbol",
    "rookery broker --listen 127.0.0.1:7402 --join 127.0.0.1:7401 --topic quotes --schema quotes.json "
    "--space price:0:1000,symbol",
    "rookery broker --listen 10.0.0.1:7401 --topic quotes --schema quotes.json --space price:0:1000,symbol "
    "--certificate keys/one.pem --private-key keys/one.key --authority keys/authority.pem",
    "rookery broker status --at 127.0.0.1:7401 --json",
    "rookery broker tree --at 127.0.0.1:7401 > tree.json",
    "rookery broker resplit --at 127.0.0.1:7401 --tree tree.json",
    "rookery broker resplit --at 127.0.0.1:7401 --every 30",
]


def command(
    action: Annotated[
        Action,
        typer.Argument(
            help="`run` a broker, show the `status` of a network, print its `tree`, or `resplit` its zones."
        ),
    ] = "run",
    listen: Annotated[str, typer.Option(metavar=ADDRESS, help="Where others reach this broker, on IPv4.")] = "",
    join: Join = None,
    patience: Annotated[float, typer.Option(help="Seconds in which one of --join has to answer.", min=0)] = 60.0,
    topic: Annotated[str, typer.Option(help="The topic.")] = "",
    schema: SchemaText = None,
    space: Space = "",
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
    memory: Annotated[
        int, typer.Option(help="MiB of events held in memory; the log on disk has what more there is.", min=1)
    ] = 512,
    client_subscriptions: Annotated[int, typer.Option(help="Subscriptions that one client may have.", min=1)] = 100_000,
    client_batches: Annotated[int, typer.Option(help="Batches a second that one client may publish.", min=1)] = 20_000,
    client_events: Annotated[int, typer.Option(help="Events a second that one client may publish.", min=1)] = 2_000_000,
    engine: Annotated[str, typer.Option(help="What matches: bitmap, matrix, index, counting or scan.")] = "bitmap",
    balance: Annotated[
        float,
        typer.Option(
            help="Seconds between looks at the load of zones, which are shared anew where it is uneven; 0 for never."
        ),
    ] = 5.0,
    proximity: Annotated[
        str,
        typer.Option(
            help="How brokers that carry events far are chosen: by coordinates on the network, by measured round trips "
            "(measured), or none."
        ),
    ] = "coordinates",
    span: Annotated[
        int | None,
        typer.Option(help="Zones of one level of routing, a power of two; the same at every broker."),
    ] = None,
    key_file: KeyFile = None,
    broker_key_file: Annotated[
        Path | None,
        typer.Option(help="A file with the key of brokers and operators, where they have no certificates."),
    ] = None,
    certificate: CertificateFile = None,
    private_key: PrivateKeyFile = None,
    authority: AuthorityFile = None,
    rights: Annotated[
        Path | None, typer.Option(help="A file that says which certificates may publish and subscribe, TOML.")
    ] = None,
    insecure: Insecure = False,
    log_format: LogFormat = "text",
    metrics: MetricsPort = None,
    at: Annotated[
        str, typer.Option(metavar=ADDRESS, help="With `status`, `tree` and `resplit`: any broker of the network.")
    ] = "127.0.0.1:7401",
    tree: Annotated[
        Path | None,
        typer.Option(
            help="With `resplit`: a K-D tree of the events, or rows of Spark's zone_stats as JSON; by default what the "
            "brokers have seen."
        ),
    ] = None,
    every: Annotated[
        float,
        typer.Option(help="With `resplit`: look again after so many seconds, for good, and move what became uneven."),
    ] = 0.0,
    json: Json = False,
) -> int:
    """Run a broker of a topic until it is told to stop, show the status or the zones of a network, or share them anew.

    Brokers divide the events of a topic among themselves by content. Clients use any of them. With TLS both ends show
    certificates, and roles and rights go by them: `rookery keys` makes them. With --key-file clients prove that they
    have the key, and brokers and operators that they have the one of --broker-key-file; all can be listened to.
    """
    set_up_logs(log_format)
    if action != "run":
        own = {"status": ("json", "key_file"), "tree": ("key_file",)}
        own["resplit"] = ("json", "tree", "every", "broker_key_file")
        refuse_all_but(
            "at", "certificate", "private_key", "authority", "log_format", *own[action],
            where=f"on `rookery broker {action}`", instead="run a broker with `rookery broker`",
        )  # fmt: skip
        read_address("--at", at)
        key = broker_key_file if action == "resplit" else key_file
        credentials = read_credentials(key, certificate, private_key, authority)
        if action == "tree":
            return _tree(at, credentials)
        if action == "status":
            return _status(at, credentials, json)
        if every:
            refuse_unused("tree", "json", where="with --every", instead="it goes by what brokers see, without end")
            return _balance(at, every, credentials)
        return _resplit(at, tree, credentials, json)
    refuse_unused("at", "json", where="on a broker that runs", instead="ask it with `rookery broker status`")
    refuse_unused("tree", "every", where="on a broker that runs", instead="say `rookery broker resplit`")
    missing = [name for name, value in (("listen", listen), ("topic", topic), ("space", space)) if not value]
    if missing or not schema:
        raise SettingsError(
            f"a broker needs {', '.join('--' + name for name in (*missing, *(() if schema else ('schema',))))}"
        )
    from rookery.brokers.configuration import BrokerDurability, BrokerProximity
    from rookery.live.brokers.settings import BrokerSettings
    from rookery.live.rights import read_rights

    try:
        promise = BrokerDurability(durability)
    except ValueError:
        raise SettingsError(f"{durability!r}: say two-disks, one-disk or memory") from None
    try:
        nearness = BrokerProximity(proximity)
    except ValueError:
        raise SettingsError(f"{proximity!r}: say coordinates, measured or none") from None
    if promise is BrokerDurability.MEMORY:
        refuse_unused("data", where="with --durability memory", instead="ask for one-disk or two-disks")
    if not join:
        refuse_unused("patience", where="without --join", instead="the first broker of a network joins nobody")
    address = read_address("--listen", listen)
    if certificate is None and private_key is None:
        refuse_unused("authority", where="without TLS", instead="give --certificate and --private-key too")
    settings = BrokerSettings(
        topic=topic,
        space=read_space(space, read_schema(schema)),
        listen=address,
        join=tuple(read_addresses("--join", join)),
        patience=patience,
        data=data or _state_folder(topic, address),
        durability=promise,
        beat=beat,
        refresh=refresh,
        backlog=backlog,
        memory=memory << 20,
        subscriptions=client_subscriptions,
        batches_per_second=client_batches,
        events_per_second=client_events,
        engine=engine,
        balance=balance,
        proximity=nearness,
        span=span,
        credentials=read_credentials(key_file, certificate, private_key, authority),
        broker_key=read_key(broker_key_file),
        rights=None if rights is None else read_rights(rights),
        insecure=insecure,
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
    return state_folder() / "brokers" / f"{topic.replace('/', '_')}-{address[0]}-{address[1]}"


def _status(at: str, credentials: Credentials, json: bool) -> int:
    from rookery.live.brokers.resplit import ask_all

    documents = asyncio.run(ask_all(at, credentials))
    if json:
        write_json(documents)
        return ExitCode.DONE
    for one in documents:
        zones = ", ".join(f"{zone['path'] or 'all'} ({zone['events']} events)" for zone in one["zones"]) or "no zone"
        write(
            f"{one['broker']}  zones {zones}  subscriptions {sum(zone['subscriptions'] for zone in one['zones'])}  "
            f"clients {one['clients']}  backup {one['backup'] or '-'}  in flight {one['in_flight']['events']}"
            f"{_place(one.get('network', {}))}"
        )
    return ExitCode.DONE


def _place(network: dict[str, Any]) -> str:
    """Return where a broker is on the network, as far as it knows."""
    at = ", ".join(f"{place:.1f}" for place in network.get("coordinates", ()))
    error, stretch = network.get("error"), network.get("stretch")
    return (
        (f"  at {at} ms" if at else "")
        + (f"  error {error:.2f}" if error is not None else "")
        + (f"  stretch {stretch:.2f}" if stretch is not None else "")
    )


def _tree(at: str, credentials: Credentials) -> int:
    from rookery.live.brokers.resplit import ask_all, network_tree

    write(network_tree(asyncio.run(ask_all(at, credentials)))[0].to_json())
    return ExitCode.DONE


def _balance(at: str, every: float, credentials: Credentials) -> int:
    from rookery.live.brokers.balance import balance

    if not every > 0:
        raise SettingsError("--every is a time in seconds, more than none")
    asyncio.run(balance(at, every=every, credentials=credentials, told=announce))
    return ExitCode.DONE


def _resplit(at: str, tree: Path | None, credentials: Credentials, json: bool) -> int:
    from rookery.live.brokers.resplit import read_statistics, resplit

    try:
        statistics = (None, None) if tree is None else read_statistics(tree.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{tree}: {error}") from error
    done = asyncio.run(resplit(at, *statistics, credentials=credentials, told=announce))
    if json:
        write_json({"moves": done.moves, "zones": done.zones})
    else:
        write(f"{done.moves} moves; " + ", ".join(f"{address} {zone}" for address, zone in sorted(done.zones.items())))
    return ExitCode.DONE
