"""Many threads read a set while one edits it: every answer is that of a state which the set had meanwhile."""

from __future__ import annotations

import sys

import pytest

from matching.threads import Run, small_limits
from rookery.matching import ENGINES


@pytest.mark.parametrize("seed", range(3))
def test_every_answer_is_that_of_one_state(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed:
        small_limits(monkeypatch)
    outcome = Run(seed, "bitmap").run(5)
    assert outcome.faults == []
    assert outcome.edits > 20
    assert outcome.overlapping > 20


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "bitmap"])
def test_every_engine_may_be_read_while_it_is_edited(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small_limits(monkeypatch)
    outcome = Run(7, engine).run(1)
    assert outcome.faults == []
    assert outcome.answers > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_every_answer_is_that_of_one_state_for_a_minute(
    seed: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if seed % 2:
        small_limits(monkeypatch)
    outcome = Run(seed, "bitmap").run(60)
    with capsys.disabled():
        sys.stderr.write(
            f"\nseed {seed}: {outcome.edits} edits, {outcome.answers} answers, {outcome.overlapping} overlap an edit"
        )
    assert outcome.faults == []
    assert outcome.overlapping > 0  # on a quiet machine some 10,000
