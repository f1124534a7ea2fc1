"""A plan on Spark: the endpoints of a fleet from a table, or from a graph, counted where they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rookery.discovery.planning.constants import Network
    from rookery.discovery.planning.plan import DiscoveryPlan

__all__ = ["plan_fleet"]

_TOO_MANY = "pairs in contact are not counted one by one, but all are taken to be"
_COLUMNS = "participant string, kind string, topic string, type_name string"


def plan_fleet(
    path: Path,
    *,
    master: str | None,
    network: Network,
    protocols: list[str] | None,
    group_by: str | None,
    stack: str | None = None,
) -> DiscoveryPlan:
    """Plan for a fleet; few protocols by default, since each of them builds a summary for everyone."""
    from rookery.cli.progress import task_progress
    from rookery.discovery.planning.plan import (
        VIEWS,
        DiscoveryPlan,
        beyond_checked,
        named_stack,
        priced,
        stack_costs,
        with_simple,
    )
    from rookery.discovery.planning.verdict import judge
    from rookery.spark.failures import plain_failure
    from rookery.spark.fleets import count_fleet
    from rookery.spark.sessions import session

    known = named_stack(stack)
    chosen = with_simple(protocols or ("ribbon", "hashes", "server"))
    spark = session(master=master)
    try:
        with task_progress(spark):
            endpoints = _read(spark, path, group_by).cache()
            topics = endpoints.select("topic").distinct().count()
            counts = {
                present: count_fleet(endpoints, protocols=chosen, infrastructure=present) for present in (True, False)
            }
    except Exception as error:
        raise plain_failure(error) from error
    views = {}
    for name, present in VIEWS:
        views[name] = priced(name, counts[present].loads, counts[present].gating, network)
    whole = counts[True]
    costs = stack_costs(whole.loads["simple"])
    notes = () if whole.pairs_were_counted else (f"{whole.matched_pairs:,.0f} endpoints match: {_TOO_MANY}",)
    return DiscoveryPlan(
        name=path.name,
        participants=whole.participants,
        endpoints=whole.endpoints,
        topics=topics,
        views=views,
        verdict=judge(views, participants=whole.participants, stack=known, stacks=costs),
        stacks=costs,
        stack=known,
        notes=(*notes, *beyond_checked(whole.loads["simple"])),
    )


def _read(spark: Any, path: Path, group_by: str | None) -> Any:
    from rookery.discovery.planning import read_topology
    from rookery.spark.events import read_frame

    if path.is_file() and path.suffix not in (".parquet", ".csv", ".jsonl"):
        topology = read_topology(path.read_bytes(), name=path.name, group_by=group_by)
        rows = [(who.name, end.kind, end.topic, end.type_name) for who, end in topology.endpoints()]
        return spark.createDataFrame(rows, _COLUMNS)
    return read_frame(spark, path, schema=_COLUMNS)
