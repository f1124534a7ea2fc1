"""What a case is: a mode of a command, and what each option changes there, or that it is refused.

A mode is a command line that runs. `effects` gives for an option what is added to the line, and a text that is then
seen in what the command prints or asks for and is not seen without it (after `GONE`: is seen without it alone).
`refused` gives what is added to the line and must be refused; `instead` is what the message tells to do. `makes` are
the options that make the mode what it is: they show their effect in another mode of the command.
`test_every_option.py` runs them all, and knows if one is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["CREDENTIALS", "FILES", "GONE", "JSON", "KEY_FILE", "LOG_FORMAT", "METRICS", "TLS", "Mode", "joined"]

#: Opens a text that the option makes disappear.
GONE = "gone: "
#: What lies in the folder where the commands run.
FILES = {
    "rules.csv": "subscription_id,topic,valid_from,where\n"
    "1,,,price < 10\n2,quotes,,price < 5\n3,,2026-01-01,price < 4\n",
    "plain.csv": "subscription_id,where\n1,price < 10\n",
    "events.csv": "price\n1.0\n",
    "key": "0123456789abcdef",
    "rights.toml": '[[allow]]\nwho = ["ann"]\npublish = ["t"]\n',
    "run.jsonl": "",
    "tree.json": "a tree",
    "other.json": "another tree",
    "graph.json": '{"nodes": [{"name": "a", "p": 1, "publishers": ["/t"]}, '
    '{"name": "b", "p": 1, "subscribers": ["/t"]}]}',
    "fleet.csv": "participant,kind,topic,type_name\na,W,t,T\n",
}


@dataclass(frozen=True, slots=True)
class Mode:
    """One mode of a command."""

    command: str
    line: str
    effects: Mapping[str, tuple[str, str]]
    refused: Mapping[str, str] = field(default_factory=dict)
    instead: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()


def joined(*parts: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return the cases of several tables."""
    return {name: case for part in parts for name, case in part.items()}


JSON = {"json": ("--json", '{\n  "')}
KEY_FILE = {"key_file": ("--key-file key", "b'0123456789abcdef'")}
TLS = {
    "certificate": ("--certificate c", "certificate=PosixPath('c')"),
    "private_key": ("--private-key k", "private_key=PosixPath('k')"),
    "authority": ("--authority a", "authority=PosixPath('a')"),
}
CREDENTIALS = KEY_FILE | TLS
LOG_FORMAT = {"log_format": ("--log-format json", '"logger": "rookery.cli"')}
METRICS = {"metrics": ("--metrics 0", "metrics(0)")}
