"""The settings of a session, without starting one."""

from __future__ import annotations

import socket

import pytest

from rookery.spark.sessions import options

SOCKETS = "spark.python.unix.domain.socket.enabled"


@pytest.mark.parametrize("known", [True, False])
def test_where_localhost_has_no_name_spark_and_its_workers_meet_in_files(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_up(*_: object, **__: object) -> list[object]:
        if known:
            return []
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    for master in ("local[2]", "spark://192.0.2.1:7077"):
        assert options(master=master).get(SOCKETS) == (None if known else "true")
