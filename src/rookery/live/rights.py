"""Who may do what with which topic: one file that a person can read, by the names in certificates.

    [roles]                      # optional: roles of certificates that bear none, or another one
    broker = ["*.brokers.example"]
    operator = ["olga"]

    [[allow]]
    who = ["sensor-*"]
    publish = ["quotes"]

    [[allow]]
    who = ["*"]
    subscribe = ["quotes", "news/*"]

Rule: what no line allows is refused. `*` stands for any text, `?` for any character. Where a role is named in the file
that says who has it, a certificate's own word for that role counts no more.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from rookery.errors import SettingsError
from rookery.live.admission import ROLES, Certificate, certified_role

__all__ = ["Allowance", "Rights", "Verb", "read_rights"]

Verb = Literal["publish", "subscribe"]
_VERBS = ("publish", "subscribe")


@dataclass(frozen=True, slots=True)
class Allowance:
    """One line of the file: who may do what; all are patterns."""

    who: tuple[str, ...]
    publish: tuple[str, ...] = ()
    subscribe: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rights:
    """What a file of rights says."""

    allowances: tuple[Allowance, ...]
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def role_of(self, certificate: Certificate) -> str:
        """Return the role of a certificate's holder: the first that the file gives the name, else the one it bears."""
        for role, names in self.roles.items():
            if _fits(certificate.name, names):
                return role
        borne = certified_role(certificate)
        return "client" if borne in self.roles else borne

    def may(self, name: str, verb: Verb, topic: str) -> bool:
        """Tell whether who has a name may publish to a topic, or subscribe to it."""
        return any(_fits(name, one.who) and _fits(topic, getattr(one, verb)) for one in self.allowances)


def read_rights(path: Path) -> Rights:
    """Read a file of rights; raise `SettingsError` for one that says anything else."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"--rights {path}: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"--rights {path}: {error}") from error
    _check(path, document, ("roles", "allow"), "the file")
    roles, allowed = document.get("roles", {}), document.get("allow", [])
    if not isinstance(roles, dict) or not isinstance(allowed, list):
        raise SettingsError(f"--rights {path}: write [roles] and [[allow]]")
    _check(path, roles, ROLES, "[roles]")
    lines = []
    for line in allowed:
        if not isinstance(line, dict) or "who" not in line:
            raise SettingsError(f'--rights {path}: an [[allow]] says who it is for: who = ["name"]')
        _check(path, line, ("who", *_VERBS), "[[allow]]")
        lines.append(Allowance(**{word: _patterns(path, word, names) for word, names in line.items()}))
    return Rights(tuple(lines), {role: _patterns(path, role, names) for role, names in roles.items()})


def _check(path: Path, given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    unknown = sorted(set(given).difference(known))
    if unknown:
        raise SettingsError(f"--rights {path}: {where} has no {unknown[0]!r}: it takes {', '.join(known)}")


def _patterns(path: Path, word: str, names: Any) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SettingsError(f"--rights {path}: {word} is a list of texts")
    return tuple(names)


def _fits(text: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)
