"""The loop that dials: until it succeeds, with pauses that grow, and no longer than patience lasts."""

from __future__ import annotations

import asyncio

from rookery.errors import JoinError
from rookery.live.dialing import dial_until


class Attempts:
    """What becomes of each attempt, and when they were made."""

    def __init__(self, *outcomes: bool | None) -> None:
        self._outcomes = list(outcomes)
        self.times: list[float] = []

    async def __call__(self) -> bool:
        self.times.append(asyncio.get_running_loop().time())
        outcome = self._outcomes.pop(0) if self._outcomes else None
        if outcome is None:
            raise JoinError("refused")
        return outcome


def test_until_one_succeeds() -> None:
    attempts, failures = Attempts(None, False, True, True), []
    assert asyncio.run(dial_until(attempts, first_pause=0.001, on_failure=failures.append))
    assert len(attempts.times) == 3
    assert [str(failure) for failure in failures] == ["refused"]


def test_pauses_grow_up_to_the_longest() -> None:
    attempts = Attempts(*[False] * 5, True)
    asyncio.run(dial_until(attempts, first_pause=0.01, longest_pause=0.04, spread=lambda: 1.0))
    pauses = [after - before for before, after in zip(attempts.times, attempts.times[1:], strict=False)]
    least = [0.01, 0.02, 0.04, 0.04, 0.04]
    assert all(pause >= 0.99 * expected for pause, expected in zip(pauses, least, strict=True))


def test_patience_ends() -> None:
    attempts = Attempts()
    assert not asyncio.run(dial_until(attempts, first_pause=0.01, patience=0.1))
    assert 2 <= len(attempts.times) <= 4  # at 0, 10, 30 and 70 ms, if the machine is not busy


def test_without_patience_there_is_one_attempt() -> None:
    attempts = Attempts()
    assert not asyncio.run(dial_until(attempts, first_pause=0.01, patience=0.0))
    assert len(attempts.times) == 1
