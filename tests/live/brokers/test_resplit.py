"""`rookery broker resplit` on four broker processes under load: zones move, no event is lost, none comes twice."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.live.broker_fleet import SCHEMA, SPACE

from rookery.brokers.plans import SplitPlan, next_step
from rookery.errors import SpaceError
from rookery.live.brokers.resplit import ask_all, path_of, read_statistics
from rookery.space.axes import Axis, EventSpace
from rookery.space.notation import read_space
from rookery.space.tree import KdTree

from .fleets import Crowd, Fleet, Load, clients_of, conditions, settled, wanted
from .test_server import run


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(tmp_path)
    try:
        for _ in range(4):
            made.start()
        yield made
    finally:
        made.close()


def statistics() -> str:
    """Rows as `zone_stats` writes them: most events are cheap."""
    events = np.random.default_rng(1).gamma(2, 40, (4000, 1))
    space = EventSpace(SCHEMA, [Axis("price", 0, 2000)])  # another range than the network's
    tree = KdTree.fit(space.points({"price": events[:, 0]}), axes=space.axes, zones=32)
    loads = np.bincount(tree.zones_of_events(space, {"price": events[:, 0]}), minlength=tree.zone_count).tolist()
    return "\n".join(
        json.dumps({"zone": zone, "events": loads[zone], "subscriptions": 2, "tree": tree.to_json()})
        for zone in range(32)
    )


async def shared_anew(fleet: Fleet, file: Path) -> None:
    chosen = conditions(200, random.Random(3))
    addresses = fleet.addresses()
    async with Crowd(fleet, chosen, 4) as crowd, clients_of(addresses[::-1]) as publisher:
        load = Load(publisher, first=crowd.first)
        command = [sys.executable, "-m", "rookery", "broker", "resplit", "--at", addresses[0], "--tree", str(file)]
        process = await asyncio.create_subprocess_exec(
            *command, "--json", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        said, heard = await process.communicate()
        assert process.returncode == 0, heard.decode()
        await load.end()
        due = wanted(chosen, load.published, engine="bitmap")
        await crowd.until(due)
        await asyncio.sleep(0.5)
        assert crowd.got == dict.fromkeys(due, 1)
        assert len(due) > 50
    done = json.loads(said)
    assert done["moves"] >= 2
    assert done["zones"].keys() == set(addresses)
    assert heard.count(b" gives ") + heard.count(b" takes the upper half of ") == done["moves"]
    tree, loads = read_statistics(file.read_text())
    plan = SplitPlan.of_tree(tree, read_space(SPACE, SCHEMA), loads=loads)
    zones = [zone for one in await ask_all(addresses[0]) for zone in one["zones"]]
    assert next_step(plan, [path_of(zone) for zone in zones], 0) is None
    printed = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "rookery", "broker", "tree", "--at", addresses[0], stdout=asyncio.subprocess.PIPE
    )
    shown = KdTree.from_json((await printed.communicate())[0].decode())
    assert sorted(shown.paths()) == sorted(path_of(zone) for zone in zones)
    assert shown.axes == read_space(SPACE, SCHEMA).axes
    median = min(zone["box"]["price"][1] for zone in zones)
    assert 0.05 < median < 0.09, "half of the events are cheaper than 67"


def test_a_live_network_is_shared_anew_by_statistics(fleet: Fleet, tmp_path: Path) -> None:
    file = tmp_path / "statistics.json"
    file.write_text(statistics())
    run(settled(fleet))
    run(shared_anew(fleet, file))


def test_statistics_are_read_in_both_forms() -> None:
    tree, loads = read_statistics(statistics())
    assert tree.zone_count == 32
    assert loads is not None
    assert sum(loads) == 4064
    assert read_statistics(tree.to_json()) == (tree, None)
    assert read_statistics(json.dumps(json.loads(tree.to_json()), indent=2)) == (tree, None)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"zone": 0}', "events", statistics().partition("\n")[0]])
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(SpaceError):
        read_statistics(text)
