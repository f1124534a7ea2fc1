"""Every option of every command changes something, or is refused: in each mode of the command, and none is left out."""

from __future__ import annotations

import functools
import io
import logging
import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rookery.cli import COMMANDS, main
from rookery.cli.application import application

from . import option_cases_data, option_cases_live, option_cases_page
from .option_modes import FILES, GONE, Mode
from .spies import install

MODES = [*option_cases_data.MODES, *option_cases_live.MODES, *option_cases_page.MODES]

Run = Callable[[Mode, str], tuple[int, str]]


@functools.cache
def options(command: str) -> dict[str, list[str]]:
    """Return the options of a command, by name, with their flags."""
    group: Any = get_command(application([command]))
    found = (one for one in group.commands[command].params if one.param_type_name == "option")
    return {one.name: list(one.opts) for one in found if one.name != "help"}


@pytest.fixture(autouse=True)
def logger() -> Iterator[None]:
    """The logger of Rookery, left as it was."""
    found = logging.getLogger("rookery")
    before = found.handlers, found.level, found.propagate
    yield
    found.handlers, found.level, found.propagate = before[0], before[1], before[2]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a mode with more on its line; return the exit code, and all that was printed and asked for."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    for name in [name for name in os.environ if name.startswith("ROOKERY_")]:
        monkeypatch.delenv(name)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    notes: list[str] = []
    install(monkeypatch, notes)

    def result(mode: Mode, more: str) -> tuple[int, str]:
        notes.clear()
        with pytest.raises(SystemExit) as left:
            main([mode.command, *shlex.split(mode.line), *shlex.split(more)])
        formats = [type(handler.formatter).__name__ for handler in logging.getLogger("rookery").handlers]
        printed = "".join(capfd.readouterr())
        return int(left.value.code or 0), "\n".join([printed, *notes, *formats])

    return result


def test_every_command_has_its_modes() -> None:
    assert {mode.command for mode in MODES} == set(COMMANDS)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: f"{mode.command} {mode.line}")
def test_every_option_has_a_case_in_every_mode(mode: Mode) -> None:
    cases = {*mode.effects, *mode.refused}
    assert cases <= set(options(mode.command)), "no such option"
    assert not set(mode.effects) & set(mode.refused)
    if mode.makes != ("*",):
        missing = set(options(mode.command)) - cases - set(mode.makes)
        assert not missing, f"say in tests/cli/option_cases_*.py what they change here, or refuse them: {missing}"
    shown = {name for other in MODES if other.command == mode.command for name in other.effects}
    assert set(options(mode.command)) <= shown, "an option that changes nothing in any mode"


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: f"{mode.command} {mode.line}")
def test_every_option_changes_something_or_is_refused(mode: Mode, run: Run) -> None:
    code, without = run(mode, "")
    assert code == 0, without
    wrong = []
    for name, (more, shown) in mode.effects.items():
        assert set(shlex.split(more)) & set(options(mode.command)[name]), more
        code, seen = run(mode, more)
        gone = shown.startswith(GONE)
        text = shown.removeprefix(GONE)
        if code == 2 or (text in seen) is gone or (text in without) is not gone:
            wrong.append(f"{more} shows no {text!r} in\n{seen}\nwithout it\n{without}")
    for name, more in mode.refused.items():
        code, seen = run(mode, more)
        said = [line for line in seen.splitlines() if line.startswith("rookery: ")]
        flag = max(options(mode.command)[name], key=len)
        right = code == 2 and len(said) == 1 and said[0].startswith(f"rookery: {flag} has no effect ")
        if not right or not any(one in said[0] for one in mode.instead) or not said[0].endswith("leave it out"):
            wrong.append(f"{more} is not refused with what to do:\n{seen}")
    assert not wrong, "\n\n".join(wrong)
