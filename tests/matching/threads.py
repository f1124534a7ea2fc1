"""One thread edits a set while others read it, and every answer is held against the states that the set had.

The writer numbers its edits. Before an edit begins it writes down what each of a few events must match after it, by
plain Python functions that share nothing with the matcher. A reader notes which edits had ended when it called and
which had begun when it got its answer: the answer must be that of one state in between.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import rookery
from rookery.errors import UnknownSubscriptionError
from rookery.matching import CompiledSet

SCHEMA = rookery.Schema(x=int, y=float, s=str, note=str)
EVENT_COUNT = 32
READERS = 4


@dataclass
class Outcome:
    """What a run saw."""

    edits: int = 0
    answers: int = 0
    overlapping: int = 0
    faults: list[str] = field(default_factory=list)


def make_events(random: Random) -> list[dict[str, Any]]:
    texts = ["", "a", "ab", "abc", "b", "m", "mm", "mmm", "zebra", "é"]
    return [
        {
            "x": random.randint(0, 30),
            "y": random.choice([None, -1.5, 0.0, 2.5, 7.25]),
            "s": random.choice([*texts, f"t{random.randint(0, 40)}", "m" * random.randint(1, 60)]),
            "note": random.choice([None, "swift", "owl", "a wren"]),
        }
        for _ in range(EVENT_COUNT)
    ]


def make_condition(random: Random) -> tuple[str, list[object] | None, Callable[[dict[str, Any]], bool]]:
    """Return a condition, its parameters, and the same as a function of an event."""
    a, b = sorted(random.randint(0, 30) for _ in range(2))
    # A fresh text each time, and now and then one that crowds into a gap, so that labels move.
    text = random.choice([f"t{random.randint(0, 40)}", f"u{random.random()}", "m" * random.randint(1, 80), "a"])
    match random.randrange(7):
        case 0:
            return f"x BETWEEN {a} AND {b}", None, lambda e: a <= e["x"] <= b
        case 1:
            return f"s = '{text}' AND x >= {a}", None, lambda e: e["s"] == text and e["x"] >= a
        case 2:
            return f"s > '{text}' AND x < {b}", None, lambda e: e["s"] > text and e["x"] < b
        case 3:
            return f"s LIKE '{text}%' OR x = {a}", None, lambda e: e["s"].startswith(text) or e["x"] == a
        case 4:
            return (
                "note LIKE '%w%' AND x > %0",
                [a],
                lambda e: "w" in (e["note"] or "") and e["x"] > a,
            )
        case 5:
            return f"x IN ({a}, {b}, 7) AND s <> '{text}'", None, lambda e: e["x"] in (a, b, 7) and e["s"] != text
        case _:
            return f"y < {a}.5 AND y IS NOT NULL", None, lambda e: e["y"] is not None and e["y"] < a + 0.5


class Run:
    """One seed: a writer, readers, and what the set was after each edit."""

    def __init__(self, seed: int, engine: str) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.matcher: Any = rookery.matcher(SCHEMA, engine=engine)
        self.events = make_events(self.random)
        self.table = pa.table(
            {
                "event_id": list(range(EVENT_COUNT)),
                **{name: pa.array([event[name] for event in self.events], kind) for name, kind in (
                    ("x", pa.int64()), ("y", pa.float64()), ("s", pa.string()), ("note", pa.string())
                )},
            }
        )  # fmt: skip
        #: What is in the set now: id → version, text, parameters, and which events it matches.
        self.held: dict[str, tuple[int, str, list[object] | None, int]] = {}
        self.signs = [0] * (2 * EVENT_COUNT)
        #: After each edit: a sign of all matches of each event, by id and version and by id alone; then how many there
        #: are in the set.
        self.states: list[tuple[int, ...]] = [tuple(self.signs)]
        self.lengths = [0]
        #: By id, the edits after which it was another, with the events that it matched from then on (None: gone).
        self.stories: dict[str, list[tuple[int, int | None]]] = {}
        self.begun = self.ended = 0
        self.names = 0
        self.stop = threading.Event()
        self.outcome = Outcome()
        self.lock = threading.Lock()

    # ---- the writer ----------------------------------------------------------------------------------------------

    def change(self, name: str, new: tuple[int, str, list[object] | None, int] | None) -> None:
        """Write down that a subscription is another from the edit to come on."""
        for old in (self.held.pop(name, None), new):
            if old is not None:
                with_version, without = hash((name, old[0])), hash(name)
                for place in range(EVENT_COUNT):
                    if old[3] >> place & 1:
                        self.signs[place] ^= with_version
                        self.signs[EVENT_COUNT + place] ^= without
        if new is not None:
            self.held[name] = new
        self.stories.setdefault(name, [(0, None)]).append((len(self.states), None if new is None else new[3]))

    def entry(self, version: int) -> tuple[int, str, list[object] | None, int]:
        where, parameters, holds = make_condition(self.random)
        return version, where, parameters, sum(holds(event) << place for place, event in enumerate(self.events))

    def prepare(self) -> Callable[[], object]:
        """Choose an edit, write down what comes of it, and return the call that makes it."""
        random, matcher = self.random, self.matcher
        kind = random.random()
        if kind < 0.45 or len(self.held) < 20:
            name = f"n{self.names}"
            self.names += 1
            one = self.entry(1)
            self.change(name, one)
            return lambda: matcher.add(name, one[1], parameters=one[2])
        if kind < 0.52:
            several = [(f"n{self.names + place}", self.entry(1)) for place in range(random.randint(1, 40))]
            self.names += len(several)
            for name, one in several:
                self.change(name, one)
            parameters = [None if one[2] is None else [str(value) for value in one[2]] for _, one in several]
            table = pa.table(
                {
                    "subscription_id": [name for name, _ in several],
                    "where": [one[1] for _, one in several],
                    "parameters": pa.array(parameters, pa.list_(pa.string())),
                }
            )
            return lambda: matcher.add_many(table)
        name = random.choice(list(self.held))
        version, where, parameters, _ = self.held[name]
        if kind < 0.72:
            one = self.entry(version + 1)
            self.change(name, one)
            return lambda: matcher.replace(name, one[1], parameters=one[2])
        if kind < 0.8 and parameters is not None:
            bound = random.randint(0, 30)
            holds = ["w" in (event["note"] or "") and event["x"] > bound for event in self.events]
            self.change(name, (version, where, [bound], sum(one << place for place, one in enumerate(holds))))
            return lambda: matcher.set_parameters(name, [bound])
        self.change(name, None)
        return lambda: matcher.remove(name)

    def write(self) -> None:
        while not self.stop.is_set():
            edit = self.prepare()
            self.states.append(tuple(self.signs))
            self.lengths.append(len(self.held))
            self.begun += 1
            edit()
            self.ended += 1
            if len(self.held) > 600:
                for name in self.random.sample(list(self.held), 400):
                    self.change(name, None)
                    self.states.append(tuple(self.signs))
                    self.lengths.append(len(self.held))
                    self.begun += 1
                    self.matcher.remove(name)
                    self.ended += 1

    # ---- the readers ---------------------------------------------------------------------------------------------

    def read(self, number: int) -> None:
        random = Random(f"{self.seed} {number}")
        seen = overlapping = 0
        questions = [self.ask_one, self.ask_one, self.ask_many, self.ask_many, self.ask_why, self.ask_size]
        while not self.stop.is_set() and not self.outcome.faults:
            question = self.ask_compiled if random.random() < 0.01 else random.choice(questions)
            first = self.ended
            fits = question(random)
            last = self.begun
            seen += 1
            overlapping += last > first
            fault = fits(first, last)
            if fault:
                self.outcome.faults.append(f"seed {self.seed}: {fault} between edits {first} and {last}")
        with self.lock:
            self.outcome.answers += seen
            self.outcome.overlapping += overlapping

    def _check(self, place: int, sign: int, what: str) -> Callable[[int, int], str | None]:
        def fits(first: int, last: int) -> str | None:
            states = {self.states[edit][place] for edit in range(first, last + 1)}
            return None if sign in states else f"{what} of event {place % EVENT_COUNT} is no answer of any state"

        return fits

    def ask_one(self, random: Random) -> Callable[[int, int], str | None]:
        place = random.randrange(EVENT_COUNT)
        sign = 0
        for one in self.matcher.match(self.events[place]):
            sign ^= hash(one)
        return self._check(EVENT_COUNT + place, sign, "match")

    def ask_many(self, random: Random) -> Callable[[int, int], str | None]:
        place = random.randrange(EVENT_COUNT)
        count = random.choice([1, 1, EVENT_COUNT])
        table = self.table.slice(place, 1) if count == 1 else self.table
        found = self.matcher.match_many(table)
        return self._fitting(found, place, "match_many")

    def _fitting(self, found: pa.Table, place: int, what: str) -> Callable[[int, int], str | None]:
        sign = 0
        for event, one, version in zip(*(found.column(name).to_pylist() for name in found.column_names), strict=True):
            if event == place:
                sign ^= hash((one, version))
        return self._check(place, sign, what)

    def ask_compiled(self, random: Random) -> Callable[[int, int], str | None]:
        place = random.randrange(EVENT_COUNT)
        compiled: CompiledSet = self.matcher.compile()
        return self._fitting(compiled.match_many(self.table), place, "compile")

    def ask_why(self, random: Random) -> Callable[[int, int], str | None]:
        place = random.randrange(EVENT_COUNT)
        name = f"n{random.randrange(max(1, self.names - 200), self.names + 2)}"
        verdict: bool | None
        try:
            verdict = bool(self.matcher.explain(name, self.events[place]).matched)
        except UnknownSubscriptionError:
            verdict = None

        def fits(first: int, last: int) -> str | None:
            story = list(self.stories.get(name, [(0, None)]))
            held = [mask for edit, mask in story if edit <= first][-1:]
            held += [mask for edit, mask in story if first < edit <= last]
            verdicts = {None if mask is None else bool(mask >> place & 1) for mask in held}
            return None if verdict in verdicts else f"explain of {name!r} says {verdict}"

        return fits

    def ask_size(self, random: Random) -> Callable[[int, int], str | None]:
        size = len(self.matcher)

        def fits(first: int, last: int) -> str | None:
            return None if size in self.lengths[first : last + 1] else f"len is {size}"

        return fits

    # ---- a run ---------------------------------------------------------------------------------------------------

    def run(self, seconds: float) -> Outcome:
        """Let one write and others read; hold the set that is left against a fresh one."""
        failures: list[BaseException] = []

        def guarded(work: Callable[[], None]) -> None:
            try:
                work()
            except BaseException as error:  # whatever it is, the run must end and say so
                failures.append(error)
                self.stop.set()

        threads = [threading.Thread(target=guarded, args=(self.write,))]
        for number in range(READERS):
            threads.append(threading.Thread(target=guarded, args=(lambda number=number: self.read(number),)))
        interval = sys.getswitchinterval()
        sys.setswitchinterval(2e-5)  # so that a reader is often interrupted in the middle of its answer
        try:
            for thread in threads:
                thread.start()
            until = time.monotonic() + seconds
            while time.monotonic() < until and not self.stop.is_set() and not self.outcome.faults:
                time.sleep(0.01)
        finally:
            self.stop.set()
            for thread in threads:
                thread.join()
            sys.setswitchinterval(interval)
        if failures:
            raise failures[0]
        self.outcome.edits = self.ended
        self._compare_with_a_fresh_set()
        return self.outcome

    def _compare_with_a_fresh_set(self) -> None:
        fresh = rookery.matcher(SCHEMA, engine="scan")
        for name, (version, where, parameters, _) in self.held.items():
            fresh.add(name, where, parameters=parameters, version=version)
        assert len(self.matcher) == len(fresh)
        for one in (self.matcher, self.matcher.compile()):
            found = one.match_many(self.table)
            assert sorted(found.to_pylist(), key=str) == sorted(fresh.match_many(self.table).to_pylist(), key=str)
        assert all(name in self.matcher for name in self.held)


def small_limits(patch: pytest.MonkeyPatch) -> None:
    """Let packing, compaction and the merging of texts happen every few edits."""
    patch.setattr(sys.modules["rookery.matching.matcher"], "MOST_DEAD", 60, raising=False)
    patch.setattr("rookery.matching.bitmap.engine.TAIL_ROWS", 70)
    patch.setattr("rookery.matching.bitmap.engine.LEAST_SEGMENT", 100)
    patch.setattr("rookery.matching.records.LEAST_TAIL", 50, raising=False)
    patch.setattr("rookery.matching.labels._FEW", 16, raising=False)
