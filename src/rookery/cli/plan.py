"""`rookery plan`: what would each discovery protocol cost on this system, and is a change worth it?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rookery.cli.exit_codes import ExitCode
from rookery.cli.options import Json, Master, note, write, write_json
from rookery.cli.unused import refuse_unused

if TYPE_CHECKING:
    from rookery.discovery.planning import DiscoveryPlan, Observation, PlanView, Topology

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery plan robot.json",
    "rookery plan robot.json --html plan.html --group-by executor_id",
    "rookery plan robot.pcap --json",
    "rookery ls --json > domain.json; rookery plan domain.json",
    "rookery plan fleet.parquet --master 'local[*,4]'",
]
#: A pipe has no width; the table is not cut for it.
_WIDTH = 160
#: Endpoint tables of a fleet are read by Spark.
_TABLES = (".parquet", ".csv", ".jsonl")


def command(
    topology: Annotated[
        Path,
        typer.Argument(help="A ROS 2 graph in JSON, a pcap or pcapng of a running system, or a table of endpoints."),
    ],
    group_by: Annotated[
        str | None, typer.Option(help="An attribute of the nodes; nodes that share its value are one participant.")
    ] = None,
    protocols: Annotated[str | None, typer.Option(help="Which ones, such as 'ribbon,hashes'; all by default.")] = None,
    round_trip_ms: Annotated[float, typer.Option(help="Of the network, for the time to complete.", min=0.0)] = 0.5,
    link_mbit: Annotated[float, typer.Option(help="Of each participant's link, in Mbit/s.", min=0.001)] = 1000.0,
    stack: Annotated[
        str | None,
        typer.Option(
            help="Whose nodes they are: rookery, cyclone, cyclone_unicast, fastdds; a capture says it itself."
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with plots to this file.")] = None,
    master: Master = None,
    json: Json = False,
) -> int:
    """Say what each discovery protocol and stack would cost on a system, and whether a change is worth it.

    Sizes come from encoding the real announcements and building the real summaries; how often things are sent was
    fitted to measured runs of ten seconds. Bytes are UDP payload.
    """
    from rookery.discovery.planning import PROTOCOLS, Network, is_capture, make_plan

    chosen = [name.strip() for name in protocols.split(",") if name.strip()] if protocols else None
    network = Network(round_trip=round_trip_ms / 1e3, octets_per_second=link_mbit * 125_000)
    observation: Observation | None = None
    data = None if topology.suffix in _TABLES or topology.is_dir() else topology.read_bytes()
    if data is None or is_capture(data):  # a setting of the file is for graphs too, and passed over here
        refuse_unused("group_by", where=f"on {topology}, which has no nodes", instead="give a ROS 2 graph in JSON")
        group_by = None
    if data is None or master is not None:
        from rookery.cli.plan_fleet import plan_fleet

        plan = plan_fleet(topology, master=master, network=network, protocols=chosen, group_by=group_by, stack=stack)
    else:
        system, observation = _read(data, topology.name, group_by)
        chosen = list(PROTOCOLS) if chosen is None else chosen
        plan = make_plan(system, network=network, protocols=chosen, stack=stack, observation=observation)
    for line in plan.notes:
        note(line)
    if html is not None:
        from rookery.cli.plan_page import page

        html.write_text(page(plan), encoding="utf-8")
        note(f"the page is in {html}")
    if json:
        write_json(plan.document() | _observed(observation))
    else:
        _print(plan, observation)
    return ExitCode.DONE


def _read(data: bytes, name: str, group_by: str | None) -> tuple[Topology, Observation | None]:
    from rookery.discovery.planning import is_capture, read_capture, read_graph

    if is_capture(data):
        return read_capture(data, name=name)
    return read_graph(data, name=name, group_by=group_by), None


def _observed(observation: Observation | None) -> dict[str, Any]:
    if observation is None:
        return {}
    octets = {name: count for name, count in observation.octets.items() if name != "samples"}
    datagrams = {name: count for name, count in observation.datagrams.items() if name != "samples"}
    return {
        "observed": {
            "packets": sum(datagrams.values()),
            "bytes": sum(octets.values()),
            "seconds": round(observation.seconds, 3),
            "start_bytes": observation.start_bytes,
            "bytes_per_minute": None if observation.per_minute is None else round(observation.per_minute),
            "bytes_by_part": octets,
            "packets_by_part": datagrams,
        }
    }


def _print(plan: DiscoveryPlan, observation: Observation | None) -> None:
    write(f"{plan.name}: {plan.participants:,} participants, {plan.endpoints:,} endpoints, {plan.topics:,} topics")
    if observation is not None:
        seen = _observed(observation)["observed"]
        write(f"discovery in the capture: {seen['packets']:,} packets, {seen['bytes']:,} bytes")
        steady = "" if seen["bytes_per_minute"] is None else f", then {seen['bytes_per_minute']:,} a minute"
        write(f"    of them {seen['start_bytes']:,} bytes in the first ten seconds{steady}")
    bare = plan.views["unicast_without_infrastructure"].gating.records != plan.views["unicast"].gating.records
    write()
    _print_view(plan.views["unicast"], "all topics")
    if bare:
        write()
        _print_view(plan.views["unicast_without_infrastructure"], "without the topics that ROS 2 gives to every node")
    write()
    _print_stacks(plan)
    write()
    write(plan.verdict.text)
    for line in plan.verdict.apply:
        write(f"  - {line}")


def _print_stacks(plan: DiscoveryPlan) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("plain discovery of other stacks")
    for heading in ("bytes", "bytes/minute"):
        table.add_column(heading, justify="right")
    for cost in plan.stacks.values():
        here = " (here)" if cost.stack == plan.stack else ""
        table.add_row(cost.stack.title + here, f"{cost.octets:,}", f"{cost.octets_per_minute:,}")
    Console(width=_WIDTH).print(table)


def _print_view(view: PlanView, title: str) -> None:
    from rich.console import Console
    from rich.table import Table

    gating = view.gating
    write(
        f"{title}: {gating.needed:,} of {gating.records:,} records are needed, "
        f"{gating.pairs_in_contact:,} of {gating.pairs:,} pairs have something in common"
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("protocol")
    headings = ("packets", "bytes", "saved", "bytes/minute", "memory/node", "seconds", "false contacts", "rate")
    for heading in (*headings, "summary"):
        table.add_column(heading, justify="right")
    for name, cost in view.costs.items():
        table.add_row(
            name if name != "server" else "server (model)",
            f"{cost.packets:,}",
            f"{cost.octets:,}",
            f"{view.saved_percent(name):.1f} %",
            f"{cost.octets_per_minute:,}",
            f"{cost.memory_per_node:,}",
            f"{cost.seconds:.3f}",
            f"{cost.false_contacts:,}",
            f"{view.false_percent(name):.3f} %",
            f"{cost.summary_octets:.0f}" if cost.summary_octets else "",
        )
    Console(width=_WIDTH).print(table)
