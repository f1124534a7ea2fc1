"""Stand-ins for what lies behind the commands: networks, Spark, processes. Each notes what it is asked for.

A command runs as always, from the command line to the call that opens a network or a session; there a spy answers, so
that hundreds of command lines run in seconds, and what was asked for can be read as text.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import pkgutil
import ssl
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery import Schema
from rookery.cli.checks import Diagnosis
from rookery.live.brokers.settings import BrokerSettings
from rookery.live.spool import Description
from rookery.live.spool.writer import SpoolWriter
from rookery.rtps.events import ParticipantLost
from rookery.space.axes import EventSpace
from rookery.space.grid import Grid

__all__ = ["Spy", "install"]


class Spy:
    """Whatever is asked of it is noted, and answered by another spy, unless an answer was given at the beginning."""

    def __init__(self, name: str, notes: list[str], **answers: Any) -> None:
        self._name, self._notes, self._answers = name, notes, answers

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._answers:
            return self._answers[name]
        return Spy(f"{self._name}.{name}", self._notes, **self._answers)

    def __call__(self, *positional: Any, **named: Any) -> Spy:
        shown = [*map(_show, positional), *(f"{name}={_show(value)}" for name, value in named.items())]
        self._notes.append(f"{self._name}({', '.join(shown)})")
        return Spy(self._name, self._notes, **self._answers)

    def __repr__(self) -> str:
        return f"<{self._name}>"

    def __format__(self, _: str) -> str:
        return repr(self)

    def __getitem__(self, _: Any) -> Spy:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __await__(self) -> Generator[Any, Any, Spy]:
        yield from ()
        return self

    def __enter__(self) -> Spy:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    async def __aenter__(self) -> Spy:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def __aiter__(self) -> Any:
        for event in self._answers.get("events", ()):
            yield event


class Delivered(dict[Any, Any]):
    """An event, and also the pair of a subscription's name and an event."""

    def __missing__(self, key: int) -> Any:
        return ("1", dict(self))[key]


def _show(value: Any) -> str:
    """Return a value as text, with what its own text hides."""
    return f"{type(value).__name__}({list(value.axes)})" if isinstance(value, Grid | EventSpace) else repr(value)


class Lasting:
    """An event that never comes."""

    async def wait(self) -> None:
        await asyncio.Event().wait()

    def is_set(self) -> bool:
        return False


@functools.cache
def import_all() -> None:
    """Import what could bind a spy's name: a module that is first imported while spies stand keeps them for good."""
    for package in ("cli", "live", "spark", "web"):
        for found in pkgutil.walk_packages([f"{rookery.__path__[0]}/{package}"], f"rookery.{package}."):
            importlib.import_module(found.name)


def install(patch: pytest.MonkeyPatch, notes: list[str]) -> None:
    """Put spies in the place of all networks, sessions and processes; leave a spool that can be described."""
    import_all()
    with SpoolWriter(Path("spool"), Description("t", 0, "T", Schema(x=int))):
        pass

    def spy(place: str, **answers: Any) -> None:
        patch.setattr(f"rookery.{place}", Spy(place.rpartition(".")[2], notes, **answers))

    _install_live(patch, notes, spy)
    patch.setattr("rookery.cli.checks.examine", _answering("examine", notes, [Diagnosis("clock", "works", "ticks")]))
    # Spark
    spy("spark.sessions.session")
    spy("spark.sql.register_sources")
    spy("spark.subscriptions.Subscriptions")
    spy("spark.history.backtest")
    changes = [{"subscription_id": name, "change": "added", "count": 1} for name in ("first", "second")]
    spy("spark.history.diff", collect=lambda: changes)
    spy("spark.pipeline.validate")
    patch.setattr("rookery.spark.events.read_events", _answering("read_events", notes, (Spy("frame", notes), "id")))
    patch.setattr("rookery.cli.match._batch", _answering("batch", notes, {"events": 1, "plan": "broadcast"}))
    patch.setattr("rookery.cli.match._stream", _answering("stream", notes, {"batches": 1}))
    patch.setattr("rookery.cli.demo._run", _answering("demonstrate", notes, 0))
    patch.setattr("rookery.cli.serve.serve_while", _serving_while(notes))
    patch.setattr("rookery.cli.plan_fleet.plan_fleet", _fleet(notes))
    spy("papers.reproduce.reproduce", results=[], changed=[], changed_by_time=[])
    patch.setattr("rookery.papers.reproduce.expected_seconds", lambda *_, **__: 1.0)
    # pages and processes
    spy("web.recorder.Recorder")
    spy("web.replay.Replay", broadcast=Spy("broadcast", notes), run=None)
    spy("web.application.application")
    spy("web.serving.bind")
    patch.setattr("rookery.web.serving.link", lambda bound, *, host, token: f"http://{host}/{token}")
    patch.setattr("rookery.web.serving.serve", _served(notes))
    for producer in ("_tail", "_domain", "_brokers", "_simulation"):
        spy(f"cli.serve.{producer}")
    patch.setattr(subprocess, "run", _answering("process", notes, subprocess.CompletedProcess((), 0)))


def _install_live(patch: pytest.MonkeyPatch, notes: list[str], spy: Callable[..., None]) -> None:
    sent = _async_answering("publish_many", notes, 1)
    events = [Delivered(price=1.0)] * 2
    for module in ("publish", "subscribe"):
        spy(f"cli.{module}.open_brokers", schema=Schema(price=float), events=events, publish_many=sent)
    spy("cli.node.open_domain")
    spy("cli.peer.open_overlay", address=("127.0.0.1", 7501))
    reached = {"sites": {}, "sent": 0}
    spy("cli.gateway.open_site", address=None, taken_over=Lasting(), status=lambda: reached)
    patch.setattr("rookery.web.producers.islands.watch_island", _async_answering("watch_island", notes, None))
    patch.setattr("rookery.web.producers.domain.record_domain", _async_answering("record_domain", notes, None))
    patch.setattr("rookery.live.udp.open_participant", _participant(notes))
    spy("discovery.warm")
    spy("cli.node_endpoints.follow")
    patch.setattr("rookery.cli.broker._run", _broker(notes))
    spy("live.authority.Authority")
    spy("live.credentials.Credentials", verify_mode=ssl.CERT_REQUIRED)
    found = Spy("survey", notes, participants=[], endpoints=[], misfits=[])
    patch.setattr("rookery.live.survey.survey", _async_answering("survey", notes, found))
    patch.setattr("rookery.live.brokers.resplit.ask_all", _async_answering("ask_all", notes, []))
    read = _answering("read_statistics", notes, (None, None))
    patch.setattr("rookery.live.brokers.resplit.read_statistics", read)
    done = Spy("resplit", notes, moves=1, zones={})
    patch.setattr("rookery.live.brokers.resplit.resplit", _async_answering("resplit", notes, done))
    patch.setattr("rookery.live.brokers.balance.balance", _async_answering("balance", notes, 0))
    spool = Spy("SpoolWriter", notes, end=0)
    patch.setattr("rookery.live.spool.writer.SpoolWriter", spool)
    counts = (0, {"recorded": 1, "groups": 1})
    patch.setattr("rookery.cli.spool._record", _async_answering("record", notes, counts))
    patch.setattr("rookery.live.metrics.serve_metrics", _metrics(notes))
    _note_waits(patch, notes)


def _answering(name: str, notes: list[str], answer: Any) -> Callable[..., Any]:
    noting = Spy(name, notes)

    def called(*positional: Any, **named: Any) -> Any:
        noting(*positional, **named)
        return answer

    return called


def _async_answering(name: str, notes: list[str], answer: Any) -> Callable[..., Any]:
    called = _answering(name, notes, answer)

    async def later(*positional: Any, **named: Any) -> Any:
        return called(*positional, **named)

    return later


def _metrics(notes: list[str]) -> Callable[..., Any]:
    @asynccontextmanager
    async def serve(port: int, _: Any) -> Any:
        notes.append(f"metrics({port})")
        yield port

    return serve


def _served(notes: list[str]) -> Callable[..., Any]:
    async def serve(app: Any, bound: Any, *, beside: Any, seconds: Any, ready: Callable[[], None]) -> None:
        notes.append(f"serve(seconds={seconds})")
        ready()

    return serve


def _broker(notes: list[str]) -> Callable[..., Any]:
    async def run(settings: BrokerSettings, metrics: int | None) -> None:
        notes.append(f"broker({settings}, {settings.space.schema}, {_show(settings.space)}, metrics={metrics})")

    return run


def _serving_while(notes: list[str]) -> Callable[..., Any]:
    def serve_while(work: Callable[[Any], int], **options: Any) -> int:
        notes.append(f"serve_while({options})")
        return work(Spy("recorder", notes))

    return serve_while


def _participant(notes: list[str]) -> Callable[..., Any]:
    """A participant whose domain is left by another one at once."""
    opened = _answering("open_participant", notes, Spy("participant", notes))

    def open_participant(*, on_event: Callable[[Any], None], **options: Any) -> Any:
        on_event(ParticipantLost(bytes(12), "it left"))
        return opened(**options)

    return open_participant


def _fleet(notes: list[str]) -> Callable[..., Any]:
    from rookery.discovery.planning import make_plan, read_graph

    def plan_fleet(path: Any, **options: Any) -> Any:
        notes.append(f"plan_fleet({path}, {options})")
        return make_plan(read_graph('{"nodes": [{"name": "n", "publishers": ["/a"]}]}'), protocols=["hashes"])

    return plan_fleet


def _note_waits(patch: pytest.MonkeyPatch, notes: list[str]) -> None:
    """Note how long is waited."""
    timeout, wait = asyncio.timeout, asyncio.wait

    def noted_timeout(seconds: float | None) -> Any:
        notes.append(f"timeout({seconds})")
        return timeout(seconds)

    async def noted_wait(tasks: Any, *, timeout: float | None = None, return_when: str = "ALL_COMPLETED") -> Any:
        notes.append(f"wait({timeout})")
        return await wait(tasks, timeout=timeout, return_when=return_when)

    async def at_once(function: Callable[..., Any], *positional: Any) -> Any:
        return function(*positional)

    patch.setattr(asyncio, "timeout", noted_timeout)
    patch.setattr(asyncio, "wait", noted_wait)
    # Standard input is empty here. A thread that says so may take longer than a command is told to stay.
    patch.setattr(asyncio, "to_thread", at_once)
