"""The live half of the demonstration when somebody kills a part of it: a clear failure, and nobody is left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rookery.cli.exit_codes import ExitCode
from rookery.errors import BrokerError
from rookery.live.demonstration import through_brokers
from rookery.model import Schema

ATTACHED = [sys.executable, "-m", "rookery.cli.attached"]
BROKER = ["broker", "--listen", "127.0.0.1:0", "--topic", "t", "--schema", "x:float64", "--space", "x:0:1"]
STARTER = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
print(child.pid, child.stderr.readline(), flush=True)
child.wait()
"""


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_attached_command_runs_like_any_other() -> None:
    with subprocess.Popen([*ATTACHED, "config", "nonsense"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        assert command.wait() == ExitCode.WRONG_USAGE


def test_an_attached_command_ends_with_who_started_it() -> None:
    call = [sys.executable, "-c", STARTER, *ATTACHED, *BROKER, "--durability", "memory"]
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        child, said = starter.stdout.readline().split(maxsplit=1)
        assert "broker of t" in said
        starter.kill()
        starter.wait()
        end = time.monotonic() + 600
        while is_alive(int(child)):
            assert time.monotonic() < end, "it is still there"
            time.sleep(0.02)


@pytest.mark.wire
def test_a_broker_that_falls_ends_the_demonstration(tmp_path: Path) -> None:
    async def kill_one() -> None:
        while True:
            for entry in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
                command = Path(f"/proc/{entry}/cmdline").read_bytes()
                if b"--join" in command and list(tmp_path.glob("broker-*")):
                    os.kill(int(entry), signal.SIGKILL)
                    return
            await asyncio.sleep(0.05)

    async def run() -> None:
        killing = asyncio.create_task(kill_one())
        try:
            await through_brokers(
                {"all": "x >= 0"},
                [{"number": number, "x": float(number % 100)} for number in range(200_000)],
                schema=Schema(number=int, x=float),
                space="x:0:100",
                identify=lambda event: int(event["number"]),
                expected=200_000,
                folder=tmp_path,
            )
        finally:
            await killing

    with pytest.raises(BrokerError, match=r"the broker at 127\.0\.0\.1:\d+ was ended by signal 9"):
        asyncio.run(run())
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    assert not [child for child in children if b"broker" in Path(f"/proc/{child}/cmdline").read_bytes()]
