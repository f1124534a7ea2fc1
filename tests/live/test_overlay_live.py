"""The overlay on real sockets: peers in several processes, what each receives beside the oracle, and kill -9."""

from __future__ import annotations

import csv
import json
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rookery.matching import matcher
from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.directory import block_position
from rookery.overlay.identity import CIRCLE

from .overlay_session import SCHEMA, grid_of

SESSION = Path(__file__).with_name("overlay_session.py")
QUOTES = Path(__file__).parents[3] / "shared" / "data" / "market" / "sp500_daily_quotes.csv"
#: How long deliveries may take; a test that needs it all has failed.
PATIENCE = 600.0
Event = dict[str, Any]


class Process:
    """A process with some of the peers."""

    def __init__(self, conditions: list[str], settings: dict[str, Any]) -> None:
        self.conditions = conditions
        self.popen = subprocess.Popen(
            [sys.executable, str(SESSION), json.dumps({**settings, "conditions": conditions})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def answer(self) -> dict[str, Any]:
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        assert line, f"the process ended with {self.popen.wait()}"
        found: dict[str, Any] = json.loads(line)
        return found

    def tell(self, line: dict[str, Any]) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(json.dumps(line) + "\n")
        self.popen.stdin.flush()

    def ask(self, line: dict[str, Any]) -> dict[str, Any]:
        self.tell(line)
        return self.answer()

    def kill(self) -> None:
        self.popen.send_signal(signal.SIGKILL)
        self.popen.wait()
        self.close()

    def close(self) -> None:
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        self.popen.stdin.close()
        self.popen.wait(600)
        self.popen.stdout.close()


class Overlay:
    """All processes, what was published, and what the oracle says."""

    def __init__(self, space: dict[str, Any], conditions: list[list[str]], *, arc: bool) -> None:
        self.space = space
        self.settings = {"space": space, "heartbeat": 2_000_000, "arc": arc, "join": None}
        first = Process(conditions[0], self.settings)
        self.settings["join"] = first.answer()["first"]
        self.processes = [first, *(Process(own, self.settings) for own in conditions[1:])]
        for process in self.processes:
            assert len(process.answer()["ready"]) == len(process.conditions)
        self.expected: dict[tuple[int, int], list[int]] = {}
        self.number = 0

    def publish(self, quotes: list[tuple[str, float]], dice: random.Random) -> None:
        """Publish from peers at random, and note who wants what by the oracle."""
        oracle = matcher(SCHEMA, engine="scan")
        for place, process in enumerate(self.processes):
            for inner, where in enumerate(process.conditions):
                oracle.add(f"{place}/{inner}", where)
                self.expected.setdefault((place, inner), [])
        batches: list[list[Any]] = [[] for _ in self.processes]
        for symbol, price in quotes:
            self.number += 1
            event = {"number": self.number, "symbol": symbol, "price": price}
            place = dice.randrange(len(self.processes))
            batches[place].append((dice.randrange(len(self.processes[place].conditions)), event))
            for name in oracle.match(event):
                outer, inner = str(name).split("/")
                self.expected[int(outer), int(inner)].append(self.number)
        for process, batch in zip(self.processes, batches, strict=True):
            process.tell({"publish": batch})
        for process, batch in zip(self.processes, batches, strict=True):
            assert process.answer() == {"published": len(batch)}

    def received(self) -> dict[tuple[int, int], list[int]]:
        found = {}
        for place, process in enumerate(self.processes):
            for inner, numbers in enumerate(process.ask({"report": True})["received"]):
                found[place, inner] = sorted(numbers)
        return found

    def check(self) -> int:
        """Wait until everybody has all it wants; nobody ever has anything else, or anything twice."""
        wanted = {key: sorted(numbers) for key, numbers in self.expected.items()}
        deadline = time.monotonic() + PATIENCE
        while (found := self.received()) != wanted and time.monotonic() < deadline:
            time.sleep(0.1)
        assert found == wanted
        time.sleep(0.3)  # what is too much would come now
        assert self.received() == wanted
        return sum(map(len, wanted.values()))

    def forget(self, places: list[int]) -> None:
        """Leave processes that are gone out of all that follows."""
        kept = [place for place in range(len(self.processes)) if place not in places]
        self.expected = {
            (kept.index(place), inner): numbers for (place, inner), numbers in self.expected.items() if place in kept
        }
        self.processes = [self.processes[place] for place in kept]

    def wait_until_whole(self) -> None:
        """Wait until rings, clusters and directory are those of the oracle: what delivery to all is promised for."""
        deadline = time.monotonic() + PATIENCE
        while (fault := self.fault()) is not None:
            assert time.monotonic() < deadline, fault
            time.sleep(0.3)

    def fault(self) -> str | None:
        states = [one for process in self.processes for one in process.ask({"state": True})["states"]]
        alive = {one["node"] for one in states}
        members = {one["node"]: one["members"] for one in states if one["phase"] == "ACTIVE"}
        rings: dict[int, list[int]] = defaultdict(list)
        for one in sorted(states, key=lambda one: int(one["position"])):
            if one["phase"] == "ACTIVE":
                for cell, _ in one["next"]:
                    rings[cell].append(one["node"])
        for one in states:
            if one["phase"] not in ("ACTIVE", "MEMBER"):
                return f"{one['node']} has no place"
            if not alive.issuperset(one["known"]):
                return f"{one['node']} is linked to who is gone"
            if one["phase"] == "MEMBER" and one["node"] not in members.get(one["primary"], ()):
                return f"{one['node']} is in a cluster that does not know it"
            for cell, following in one["next"] if one["phase"] == "ACTIVE" else ():
                ring = rings[cell]
                right = ring[(ring.index(one["node"]) + 1) % len(ring)] if len(ring) > 1 else None
                if following != right:
                    return f"{one['node']} has {following} next on ring {cell}, and the oracle {right}"
        return self.fault_of_directory([one for one in states if one["phase"] == "ACTIVE"], rings)

    def fault_of_directory(self, speakers: list[dict[str, Any]], rings: dict[int, list[int]]) -> str | None:
        """Whoever owns the block of a cell must know one of its holders, and none that is gone."""
        shared = grid_of(self.space).cell_count
        size = OverlayConfiguration().block_size
        for cell in rings:
            target = block_position(cell // size)
            owner = min(speakers, key=lambda one: (int(one["position"]) - target) % CIRCLE)
            held = dict(owner["directory"]).get(cell, [])
            if cell != shared and (not held or not set(held) <= set(rings[cell])):
                return f"{owner['node']} has {held} for cell {cell}, and the oracle {rings[cell]}"
        return None

    def close(self) -> None:
        for process in self.processes:
            process.popen.stdin.close()  # type: ignore[union-attr]
        for process in self.processes:
            process.close()


def generated(dice: random.Random, count: int) -> tuple[dict[str, Any], list[tuple[str, float]]]:
    symbols = [f"S{place:02}" for place in range(24)]
    edges = [float(10 * place) for place in range(13)]
    quotes = [(dice.choice(symbols), round(dice.uniform(0, 120), 2)) for _ in range(count)]
    return {"symbols": symbols, "edges": edges}, quotes


def real(dice: random.Random, count: int) -> tuple[dict[str, Any], list[tuple[str, float]]]:
    """Quotes of the S&P 500, the busiest part of the file for these symbols, as they follow each other."""
    with QUOTES.open(newline="") as file:
        rows = [(row["symbol"], float(row["price"])) for row in csv.DictReader(file)]
    symbols = sorted(dice.sample(sorted({symbol for symbol, _ in rows}), 40))
    quotes = [row for row in rows if row[0] in symbols][:count]
    prices = sorted(price for _, price in quotes)
    edges = sorted({prices[place * (len(prices) - 1) // 12] for place in range(13)})
    return {"symbols": symbols, "edges": edges}, quotes


def conditions_of(
    dice: random.Random, space: dict[str, Any], quotes: list[tuple[str, float]], counts: list[int]
) -> list[list[str]]:
    """Conditions around prices that occur, some of them held by several peers, so that clusters form."""

    def one() -> str:
        symbol, price = dice.choice(quotes)
        low, high = round(price * dice.uniform(0.7, 1.0), 2), round(price * dice.uniform(1.0, 1.4), 2)
        return dice.choice(
            [
                f"symbol = '{symbol}' AND price BETWEEN {low} AND {high}",
                f"symbol = '{symbol}' AND price > {low}",
                f"symbol IN ('{symbol}', '{dice.choice(space['symbols'])}') AND price < {high}",
            ]
        )

    popular = [one() for _ in range(3)]
    return [[dice.choice(popular) if dice.random() < 0.2 else one() for _ in range(count)] for count in counts]


@pytest.fixture
def overlays() -> Iterator[list[Overlay]]:
    made: list[Overlay] = []
    yield made
    for overlay in made:
        overlay.close()


def live(overlays: list[Overlay], source: Any, *, counts: list[int], events: int, arc: bool, seed: int) -> None:
    """Deliver; lose a fifth of the peers at once; repair; deliver again."""
    dice = random.Random(seed)
    space, quotes = source(dice, 2 * events)
    overlay = Overlay(space, conditions_of(dice, space, quotes, counts), arc=arc)
    overlays.append(overlay)
    overlay.wait_until_whole()
    overlay.publish(quotes[:events], dice)
    assert overlay.check() > events // 4
    overlay.processes[-1].kill()  # a fifth of all peers are in the last process
    overlay.forget([len(overlay.processes) - 1])
    overlay.wait_until_whole()
    overlay.publish(quotes[events : 2 * events], dice)
    overlay.check()


@pytest.mark.wire
def test_deliveries_are_those_of_the_oracle_and_a_fifth_may_be_killed(overlays: list[Overlay]) -> None:
    live(overlays, generated, counts=[5, 5, 3], events=120, arc=False, seed=1)


@pytest.mark.wire
@pytest.mark.real
@pytest.mark.skipif(not QUOTES.is_file(), reason="the market's quotes are not beside the checkout")
def test_fifty_peers_and_real_quotes(overlays: list[Overlay]) -> None:
    live(overlays, real, counts=[14, 13, 13, 10], events=300, arc=True, seed=2)


@pytest.mark.wire
@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("arc", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_fifty_peers_at_length(overlays: list[Overlay], seed: int, arc: bool) -> None:
    source = real if QUOTES.is_file() else generated
    live(overlays, source, counts=[14, 13, 13, 10], events=2000, arc=arc, seed=seed)
