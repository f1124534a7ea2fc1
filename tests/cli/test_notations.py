"""One notation of a schema, a space and an address in every command that takes one, and mistakes that show it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rookery import Schema
from rookery.cli import COMMANDS, main
from rookery.cli.application import application
from rookery.cli.notations import read_address, read_addresses, read_grid, read_schema, read_space
from rookery.errors import SettingsError

SCHEMA = Schema(symbol=str, price=float)
CUTS = {"symbol": ["ACME", "BOLT"], "price": [0, 25, 50, 75, 100]}
TEXT = "symbol:BOLT|ACME,price:0:100/4"

#: For each option with a notation: a text that is none of it, and what the message shows.
WRONG = {
    "schema": ("price=float64", "write --schema 'symbol:string,price:float64'"),
    "space": ("price=0..9", "write price:0:1000"),
    "listen": ("7401", "write host:port, for example 127.0.0.1:7401"),
    "join": ("tcp://127.0.0.1:7401", "write host:port, for example 127.0.0.1:7401"),
    "at": ("127.0.0.1", "write host:port, for example 127.0.0.1:7401"),
    "broker": ("127.0.0.1/7401", "write host:port, for example 127.0.0.1:7401"),
}
#: What a command needs beside the option, so that the option is read.
BESIDE = {
    "validate": ["rules.csv"],
    "lint": ["rules.csv"],
    "explain": ["rules.csv", "--event", "{}"],
    "match": ["-s", "rules.csv", "-e", "events.csv", "-o", "out"],
    "backtest": ["-s", "rules.csv", "-e", "events.csv"],
    "diff": ["rules.csv", "rules.csv", "-e", "events.csv"],
    "node": ["--topic", "t"],
    "gateway": ["--island", "a", "--listen", "127.0.0.1:0", "--topic", "t", "--schema", "x:int64"],
    "peer": ["--topic", "t", "--schema", "price:float64", "--space", "price:0:9"],
    "broker": ["--listen", "127.0.0.1:0", "--topic", "t", "--schema", "price:float64", "--space", "price:0:9"],
    "publish": ["t", "{}"],
    "subscribe": ["t"],
    "spool": ["--dir", "spool", "--topic", "t"],
    "serve": [],
}


def noted() -> list[tuple[str, str]]:
    """Return each command and option that takes a schema, a space or an address."""
    group: Any = get_command(application(list(COMMANDS)))
    found = [(name, one.name) for name in COMMANDS for one in group.commands[name].params if one.name in WRONG]
    found.remove(("keys", "broker"))  # a name and where it is reached, for its certificate: no address to dial
    return found


@pytest.mark.parametrize(("command", "option"), noted())
def test_what_is_written_wrongly_is_wrong_usage_and_shows_the_notation(
    command: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.csv").write_text("subscription_id,where\na,price < 1\n")
    Path("events.csv").write_text("price\n1.0\n")
    text, shown = WRONG[option]
    beside = ["status"] if (command, option) == ("broker", "at") else BESIDE[command]
    monkeypatch.setattr(asyncio, "run", lambda work: pytest.fail(f"went on to {work}"))
    with pytest.raises(SystemExit) as left:
        main([command, *beside, f"--{option}", text])
    said = capsys.readouterr().err
    assert left.value.code == 2, said
    assert shown in said
    assert f"--{option}" in said
    assert len(said.splitlines()) == 1


def test_a_schema_is_text_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps({"symbol": "string", "price": "float64"}))
    assert read_schema("symbol:string,price:float64") == read_schema(str(file)) == SCHEMA


def test_a_space_is_text_or_a_document_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "space.json"
    file.write_text(json.dumps(CUTS))
    assert read_grid(str(file), SCHEMA).axes == read_grid(TEXT, SCHEMA).axes
    assert read_space(str(file), SCHEMA).axes == read_space(TEXT, SCHEMA).axes
    for wrong in ("[1]", "{"):
        file.write_text(wrong)
        with pytest.raises(SettingsError, match=r"--space: .*space"):
            read_grid(str(file), SCHEMA)
    with pytest.raises(SettingsError, match="cannot read the space"):
        read_space("none.json", SCHEMA)


def test_addresses_are_host_and_port() -> None:
    assert read_address("--listen", "localhost:7401") == ("127.0.0.1", 7401)
    assert read_addresses("--join", ["10.0.0.1:1", "10.0.0.2:2"]) == [("10.0.0.1", 1), ("10.0.0.2", 2)]
    assert read_addresses("--join", None) == []
