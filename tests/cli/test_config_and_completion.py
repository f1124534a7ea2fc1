"""`rookery config` tells the truth about every origin; `rookery completion` gives lines that a real shell can use."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rookery
from rookery.cli.config import EVERYWHERE


def rookery_command(*arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ROOKERY_")}
    environment |= variables
    call = [sys.executable, "-m", "rookery", *arguments]
    return subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def settings(*arguments: str, folder: Path, **variables: str) -> dict[str, tuple[object, str]]:
    done = rookery_command("config", *arguments, "--json", folder=folder, **variables)
    assert done.returncode == 0, done.stderr
    return {entry["name"]: (entry["value"], entry["origin"]) for entry in json.loads(done.stdout)}


def test_each_origin_is_named_and_the_nearest_wins(tmp_path: Path) -> None:
    (tmp_path / "rookery.toml").write_text('[match]\ntime = "when"\nplan = "zoned"\n')
    seen = settings("match", folder=tmp_path, ROOKERY_MATCH_PLAN="broadcast")
    assert seen["plan"] == ("broadcast", "variable ROOKERY_MATCH_PLAN")
    assert seen["time"] == ("when", "file rookery.toml")
    assert seen["format"] == ("parquet", "default")


def test_all_commands_are_shown_with_the_variables_that_belong_to_none(tmp_path: Path) -> None:
    shown = rookery_command("config", folder=tmp_path, ROOKERY_MASTER="local[3]").stdout
    assert re.search(r"ROOKERY_MASTER +local\[3\] +variable: ", shown)
    assert "file: none (rookery.toml is not there)" in shown
    assert "[match]" in shown
    assert "[test]" in shown


def test_no_variable_that_the_package_reads_is_left_out() -> None:
    package = Path(rookery.__file__).parent
    read = set()
    for file in package.rglob("*.py"):
        read |= set(re.findall(r"environ(?:\.get\(|\[)\"(ROOKERY_[A-Z_]+)\"", file.read_text(encoding="utf-8")))
    assert read <= set(EVERYWHERE)


def test_a_mistake_in_the_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "rookery.toml").write_text('[match]\ntme = "when"\n')
    done = rookery_command("config", "match", folder=tmp_path)
    assert done.returncode == 2
    assert "[match] has no setting tme; did you mean time?" in done.stderr
    assert "there is no command mtch" in rookery_command("config", "mtch", folder=tmp_path).stderr


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(("line", "offered"), [("rookery mat", "match"), ("rookery match --check", "--checkpoint")])
def test_bash_completes_with_the_printed_lines(commands: Path, line: str, offered: str) -> None:
    script = f"""
    eval "$(rookery completion bash)"
    COMP_WORDS=({line}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
    _rookery_completion rookery
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [offered]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_lines(tmp_path: Path, shell: str) -> None:
    done = rookery_command("completion", shell, folder=tmp_path)
    assert done.returncode == 0
    assert "_ROOKERY_COMPLETE=complete_" + shell in done.stdout
