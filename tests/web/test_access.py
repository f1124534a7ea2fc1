"""Who may see the page: the Host header, the token, the origin, the policy. Asked over real sockets."""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from tests.web.conftest import Serve

from rookery.web.access import POLICY, is_loopback

TOKEN = "a-secret_1"


@pytest.fixture(scope="module")
def guarded(serve: Serve, run_file: Path) -> Iterator[str]:
    with serve(run_file, "--token", TOKEN, "--name", "page.example") as address:
        yield address


@pytest.fixture(scope="module")
def unguarded(serve: Serve, run_file: Path) -> Iterator[str]:
    with serve(run_file) as address:
        yield address


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage


def ask(url: str, path: str, *, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
    """Ask once; underscores in the names of headers become dashes."""
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(url).port or 0, timeout=600)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with contextlib.closing(connection):
        connection.putrequest(method, path, skip_host="Host" in named)
        for name, value in named.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(None if body is None else body.encode())
        with connection.getresponse() as answer:
            return Answer(answer.status, answer.headers)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "localhost.evil.example", "192.0.2.7", "", "[::1", "127.0.0.1.nip.example"],
)
def test_another_name_is_refused(unguarded: str, host: str) -> None:
    for path in ("/", "/stream", "/snapshot", "/save", "/nothing"):
        assert ask(unguarded, path, Host=host).status == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1:1", "127.3.2.1", "[::1]:80", "[::1]"])
def test_this_machine_is_known_by_its_names(unguarded: str, host: str) -> None:
    answer = ask(unguarded, "/", Host=host)
    assert answer.status == 200
    assert answer.headers["Content-Security-Policy"] == POLICY
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "unsafe" not in POLICY
    assert "default-src 'none'" in POLICY


def test_without_the_token_there_is_nothing(guarded: str) -> None:
    for path in ("/", "/page.js", "/stream", "/snapshot", "/save", "/?token=wrong", "/?token="):
        assert ask(guarded, path).status == 401, path
    assert ask(guarded, "/snapshot", Authorization="Bearer wrong").status == 401
    assert ask(guarded, "/snapshot", Cookie="rookery_token=wrong").status == 401
    assert ask(guarded, "/snapshot", Cookie="rookery_token=\x7f; ;=").status == 401
    assert ask(guarded, "/replay", method="POST", body="{}").status == 401
    assert ask(guarded, "/?token=" + TOKEN, Host="evil.example").status == 421


def test_the_token_of_the_link_becomes_a_cookie(guarded: str) -> None:
    parts = urlsplit(guarded)
    assert parts.query == f"token={TOKEN}"
    answer = ask(guarded, f"{parts.path}?{parts.query}")
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert ask(guarded, "/", Cookie=cookie.partition(";")[0]).status == 200
    assert ask(guarded, "/snapshot", Authorization=f"Bearer {TOKEN}").status == 200
    assert ask(guarded, "/", Host="page.example", Authorization=f"bearer {TOKEN}").status == 200


def test_only_the_page_itself_steers(unguarded: str) -> None:
    host = urlsplit(unguarded).netloc
    assert ask(unguarded, "/replay", method="POST", body="{}", Origin="http://evil.example").status == 403
    assert ask(unguarded, "/replay", method="POST", body="{}", Origin="null").status == 403
    assert ask(unguarded, "/replay", method="POST", body='{"playing": false}', Origin=f"http://{host}").status == 200
    for wrong in ("", "[]", '{"speed": 1e9}', '{"speed": "fast"}', '{"colour": 1}', '{"position": "x"}'):
        assert ask(unguarded, "/replay", method="POST", body=wrong).status == 400, wrong
    assert ask(unguarded, "/replay", method="POST", body="x" * 20_000).status == 413
    assert ask(unguarded, "/explain?event=nobody").status == 404
    assert ask(unguarded, "/replay").status == 405


@pytest.mark.parametrize(
    ("host", "alone"), [("localhost", True), ("127.0.0.5", True), ("::1", True), ("0.0.0.0", False), ("example", False)]
)
def test_what_is_this_machine_alone(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone
