"""The application: the page, its stream of changes, and the four things a reader can ask for.

GET  /             the page; page.css, page.js
GET  /stream       server-sent events: a snapshot, then what changed, four times a second at most
GET  /snapshot     the state as JSON
GET  /explain      ?event=…: why an event matched some subscriptions and not others
GET  /save         the page as one file that works without this server
POST /replay       {"playing": …, "speed": …, "position": …}: steer a replay
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from rookery.errors import RunError
from rookery.web import assets
from rookery.web.access import AccessControl
from rookery.web.broadcast import MOST_PAGES, Broadcast
from rookery.web.explaining import Explainer
from rookery.web.replay import Replay

__all__ = ["application"]

Result = TypeVar("Result")
#: Octets of a request that steers.
LARGEST_REQUEST = 10_000
#: Events that a saved page can explain although nobody had asked.
EXPLAINED_WHEN_SAVED = 20


class Steering(msgspec.Struct, forbid_unknown_fields=True):
    """What a reader asks of a replay."""

    playing: bool | None = None
    speed: float | None = None
    position: int | None = None


def application(
    broadcast: Broadcast,
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    names: Iterable[str] = (),
    replay: Replay | None = None,
) -> AccessControl:
    """Make the application; whoever serves it runs the broadcast, and what feeds it, beside it."""
    views = _Views(broadcast, replay)

    routes = [
        Route("/", views.page),
        Route("/page.css", views.style),
        Route("/page.js", views.script),
        Route("/stream", views.stream),
        Route("/snapshot", views.snapshot),
        Route("/explain", views.explain),
        Route("/save", views.save),
        Route("/replay", views.steer, methods=["POST"]),
    ]
    return AccessControl(Starlette(routes=routes), host=host, token=token, names=names)


class _Views:
    def __init__(self, broadcast: Broadcast, replay: Replay | None) -> None:
        self._broadcast = broadcast
        self._replay = replay
        self._explainer = Explainer()
        self._explaining = asyncio.Lock()

    async def page(self, request: Request) -> Response:
        return Response(assets.page(), media_type="text/html")

    async def style(self, request: Request) -> Response:
        return Response(assets.style(), media_type="text/css")

    async def script(self, request: Request) -> Response:
        return Response(assets.script(), media_type="text/javascript")

    async def snapshot(self, request: Request) -> Response:
        return Response(self._broadcast.snapshot(), media_type="application/json")

    async def stream(self, request: Request) -> Response:
        if self._broadcast.pages >= MOST_PAGES:
            return _fault(f"{MOST_PAGES} pages are open already", 503)

        async def events() -> AsyncIterator[bytes]:
            async for message in self._broadcast.messages():
                yield b"data: " + message + b"\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    async def explain(self, request: Request) -> Response:
        try:
            await self._explain(request.query_params.get("event", ""))
        except RunError as error:
            return _fault(str(error), 404)
        state = self._broadcast.state
        explanation = state.explanations[request.query_params["event"]]
        return Response(msgspec.json.encode(explanation), media_type="application/json")

    async def save(self, request: Request) -> Response:
        for event in list(self._broadcast.state.shown)[-EXPLAINED_WHEN_SAVED:]:
            with contextlib.suppress(RunError):
                await self._explain(event)
        document = assets.saved_page(self._broadcast.snapshot())
        disposition = {"Content-Disposition": 'attachment; filename="rookery.html"'}
        return Response(document, media_type="text/html", headers=disposition)

    async def steer(self, request: Request) -> Response:
        replay = self._replay
        if replay is None:
            return _fault("this run is live: there is nothing to steer", 409)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_REQUEST:
                return _fault("the request is too large", 413)
        try:
            wish = msgspec.json.decode(body, type=Steering)
            if wish.speed is not None:
                replay.set_speed(wish.speed)
        except (msgspec.DecodeError, RunError) as error:
            return _fault(str(error), 400)
        if wish.position is not None:
            await replay.seek(wish.position)
        if wish.playing is not None:
            if wish.playing and replay.position >= replay.extent.last:
                await replay.seek(replay.extent.first)
            replay.playing = wish.playing
        self._broadcast.tick()
        return JSONResponse(replay.status())

    async def _explain(self, event: str) -> None:
        """Have an event explained in a thread: a large set takes a second to compile, and pages go on meanwhile."""
        async with self._explaining:
            state = self._broadcast.state
            explanation = await _in_thread(lambda: self._explainer.explain(state, event))
            if event not in state.explanations:
                self._broadcast.feed(explanation)
            if event not in self._broadcast.state.explanations:
                raise RunError(f"event {event} was forgotten meanwhile")


async def _in_thread(work: Callable[[], Result]) -> Result:
    """Work beside the loop, in a thread that nobody waits for when the server stops."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except Exception as caught:
            error = caught
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="rookery-explain", daemon=True).start()
    return await future


def _fault(message: str, status: int) -> Response:
    return JSONResponse({"error": message}, status_code=status)
