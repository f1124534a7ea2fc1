"""SIGTERM ends a live command as Ctrl-C does: the others are told that it leaves, before its lease ends."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys

import pytest

from rookery.live.udp import open_participant
from rookery.rtps.events import Event, ParticipantDiscovered, ParticipantLost

pytestmark = pytest.mark.wire


@pytest.mark.parametrize("in_background", [False, True])
@pytest.mark.parametrize("topic", [[], ["--topic", "quotes", "--schema", "price:float64"]])
def test_a_terminated_node_says_goodbye(domain_id: int, topic: list[str], in_background: bool) -> None:
    async def watch() -> tuple[list[str], int]:
        seen: list[Event] = []
        udp = open_participant(on_event=seen.append, domain_id=domain_id)
        ignore = (lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if in_background else None
        command = [sys.executable, "-m", "rookery", "node", "--domain-id", str(domain_id), "--name", "leaver", *topic]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=ignore)
        try:
            async with asyncio.timeout(600):
                while not (prefix := leaver(seen)):
                    await asyncio.sleep(0.05)
                process.terminate()
                code = await asyncio.to_thread(process.wait)
                while not (
                    lost := [one.reason for one in seen if isinstance(one, ParticipantLost) and one.prefix == prefix]
                ):
                    await asyncio.sleep(0.05)
        finally:
            process.kill()
            process.communicate()
            await udp.close()
        return lost, code

    lost, code = asyncio.run(watch())
    assert code == 130
    assert lost == ["disposed"]


def leaver(seen: list[Event]) -> bytes:
    """Return the prefix of the node under test, once it is found; a domain may have strangers."""
    found = [event.announcement for event in seen if isinstance(event, ParticipantDiscovered)]
    return next((one.prefix for one in found if one.name == "leaver"), b"")


def reasons(seen: list[Event], prefix: bytes) -> list[str]:
    """Return why a participant was lost."""
    return [event.reason for event in seen if isinstance(event, ParticipantLost) and event.prefix == prefix]
