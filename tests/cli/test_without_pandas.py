"""A command that is a process of its own and sees no data frame does not import pandas; whoever wants one has it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import rookery.cli
from rookery.cli import COMMANDS
from rookery.cli.without_pandas import LIGHT

pytest.importorskip("pandas", reason="there is none to leave out")

COMMAND = """
import atexit, sys
atexit.register(lambda: print("pandas" in sys.modules, "rookery.matching.records" in sys.modules, file=sys.stderr))
from rookery.cli import main
main()
"""
#: Arrow was told that there is no pandas, and then is given what pandas makes.
LATER = """
from rookery.cli.without_pandas import leave_out_pandas
leave_out_pandas()
import pyarrow as pa, sys
assert "pandas" not in sys.modules
table = pa.table({"price": [1.0, None]})
assert "pandas" not in sys.modules
frame = table.to_pandas()
assert pa.array(frame["price"]).null_count == 1
leave_out_pandas()
assert pa.Table.from_pandas(frame).equals(table)
"""


def run(program: str, *arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_command_without_data_frames_has_no_pandas(tmp_path: Path) -> None:
    (tmp_path / "rules.csv").write_text("subscription_id,where\n1,price < 10\n")
    said = run(COMMAND, "lint", "rules.csv", "--schema", "price:float64", folder=tmp_path)
    assert said.splitlines()[-1] == "False True"


def test_a_data_frame_is_made_and_read_as_ever(tmp_path: Path) -> None:
    run(LATER, folder=tmp_path)


@pytest.mark.parametrize("name", sorted(LIGHT))
def test_no_such_command_starts_spark(name: str) -> None:
    assert name in COMMANDS
    assert "rookery.spark" not in (Path(rookery.cli.__file__).parent / f"{name}.py").read_text()
