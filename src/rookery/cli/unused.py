"""An option that a call does not use is refused, with what to do instead.

Rule 1: a flag that is typed and would change nothing is a mistake: exit 2, one line.
Rule 2: only flags are refused. A variable or a line of `rookery.toml` is there for all calls of a command, in each of
its modes, and a mode passes over what is meant for another.

The command that runs notes which flags were typed (`remember_given`); the command's function then says what its mode
has no use for (`refuse_unused`) or what alone it uses (`refuse_all_but`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

from rookery.errors import SettingsError

__all__ = ["refuse_all_but", "refuse_unused", "remember_given"]

#: The typed options of the command that runs: the flag by the name of the parameter.
_GIVEN: ContextVar[Mapping[str, str]] = ContextVar("given", default=MappingProxyType({}))


@contextmanager
def remember_given(flags: Mapping[str, str]) -> Iterator[None]:
    """Note the options that were typed, while the command runs."""
    token = _GIVEN.set(flags)
    try:
        yield
    finally:
        _GIVEN.reset(token)


def refuse_unused(*names: str, where: str, instead: str) -> None:
    """Refuse those of the options `names` that were typed: they have no effect `where`; do `instead`."""
    _refuse([flag for name, flag in _GIVEN.get().items() if name in names], where, instead)


def refuse_all_but(*names: str, where: str, instead: str) -> None:
    """Refuse what was typed, except the options `names`."""
    _refuse([flag for name, flag in _GIVEN.get().items() if name not in names], where, instead)


def _refuse(flags: list[str], where: str, instead: str) -> None:
    if flags:
        verb, them = ("has", "it") if len(flags) == 1 else ("have", "them")
        raise SettingsError(f"{', '.join(flags)} {verb} no effect {where}: {instead}, or leave {them} out")
