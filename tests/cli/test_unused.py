"""A typed flag that changes nothing is refused; a setting that waits for another mode is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from rookery import Schema
from rookery.cli import main
from rookery.cli.unused import refuse_all_but, refuse_unused, remember_given
from rookery.errors import SettingsError
from rookery.live.spool import Description
from rookery.live.spool.writer import SpoolWriter


def test_what_was_typed_and_is_not_used_is_named_with_what_to_do() -> None:
    with remember_given({"retain_bytes": "--retain-bytes", "json": "--json"}):
        refuse_unused("format", where="on a batch", instead="give --stream")
        refuse_all_but("json", "retain_bytes", where="here", instead="go there")
        with pytest.raises(SettingsError) as refused:
            refuse_unused("retain_bytes", "format", where="on a batch", instead="give --stream")
        assert str(refused.value) == "--retain-bytes has no effect on a batch: give --stream, or leave it out"
        with pytest.raises(SettingsError) as refused:
            refuse_all_but(where="here", instead="go there")
        assert str(refused.value) == "--retain-bytes, --json have no effect here: go there, or leave them out"
    refuse_all_but(where="after the command", instead="run another")


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command line that describes a spool, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    with SpoolWriter(Path("spool"), Description("t", 0, "T", Schema(x=int))):
        pass
    return ["spool", "--dir", "spool"]


def code_of(arguments: list[str]) -> object:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return left.value.code


def test_only_flags_are_refused(
    spool: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of([*spool, "--interface", "lo"]) == 2, "the default, but typed"
    assert "--interface has no effect without --topic" in capsys.readouterr().err
    Path("rookery.toml").write_text('[spool]\ninterface = "eth0"\n[peer]\ntopic = "t"\n[gateway]\nisland = "here"\n')
    monkeypatch.setenv("ROOKERY_SPOOL_LEASE_SECONDS", "4")
    assert code_of(spool) == 0
    assert "topic       t" in capsys.readouterr().out


def test_the_settings_of_a_new_command_come_from_variables_and_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rookery.toml").write_text(
        '[peer]\ntopic = "t"\nschema = "x:int64"\nspace = "x:0:9"\nlisten = "nowhere"\n[gateway]\nisland = "here"\n'
    )
    assert code_of(["peer"]) == 2
    assert "--listen: 'nowhere' is no address" in capsys.readouterr().err
    monkeypatch.setenv("ROOKERY_PEER_SPACE", "y:0:9")
    assert code_of(["peer"]) == 2
    assert "--space: the space cuts 'y'" in capsys.readouterr().err
    assert code_of(["gateway"]) == 2
    assert "a gateway alone joins nothing" in capsys.readouterr().err
