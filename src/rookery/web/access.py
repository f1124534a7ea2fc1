"""Who may see the page: this machine, or whoever has the token.

Rule 1: the Host header must be an address or `localhost`, never another name, unless the operator gave that name. A
page elsewhere whose name is made to point here (DNS rebinding) sends its own name, and is refused. On loopback the
address must be loopback.
Rule 2: with a token, nothing is answered without it. It comes once in the link, `?token=…`, and is moved into a cookie
that scripts cannot read and other sites do not send; programs send `Authorization: Bearer …`.
Rule 3: what changes something must come from the page itself (the Origin header).
Rule 4: every answer carries the policy under which the page runs: nothing from elsewhere, nothing inline, no frames.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["POLICY", "AccessControl", "is_loopback"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
COOKIE = "rookery_token"


def is_loopback(host: str) -> bool:
    """Tell whether a host, as given to the command, is this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class AccessControl:
    """The guard in front of the application."""

    def __init__(self, application: ASGIApp, *, host: str, token: str | None, names: Iterable[str] = ()) -> None:
        self._application = application
        self._loopback = is_loopback(host)
        self._token = token
        self._names = frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let through."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._application(scope, receive, send)
            return
        refusal = self._refusal(Request(scope))

        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (refusal or self._application)(scope, receive, send_with_policy)

    def _refusal(self, request: Request) -> Response | None:
        host = request.headers.get("host", "")
        if not self._knows(host):
            return PlainTextResponse("this page is not known by that name\n", status_code=421)
        if self._token is not None:
            given = request.query_params.get("token")
            if given is not None and request.method == "GET" and self._is_token(given):
                answer = RedirectResponse(request.url.path, status_code=303)
                answer.set_cookie(COOKIE, self._token, httponly=True, samesite="strict", path="/")
                return answer
            if not self._is_token(_sent_token(request.headers)):
                return PlainTextResponse(
                    "a token is needed: open the link that `rookery serve` printed\n", status_code=401
                )
        if request.method not in ("GET", "HEAD"):
            origin = request.headers.get("origin")
            if origin is not None and origin.partition("://")[2] != host:
                return PlainTextResponse("a request from another page\n", status_code=403)
        return None

    def _is_token(self, given: str) -> bool:
        return self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())

    def _knows(self, host: str) -> bool:
        """Tell whether a Host header is one of ours."""
        name = _without_port(host).lower().rstrip(".")
        if name == "localhost" or name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self._loopback


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0] if "]" in host else host
    return host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() and ":" in host else host


def _sent_token(headers: Headers) -> str:
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if cookie is None else cookie.value
