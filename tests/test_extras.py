"""The extras: the table is that of `pyproject.toml`, and what is missing is said with the extra that brings it."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rookery import extras
from rookery.errors import MissingExtraError, RookeryError

ROOT = Path(__file__).parents[1]
#: Packages that are imported by another name than they are installed by.
IMPORTED = {"pyyaml": "yaml", "confluent-kafka": "confluent_kafka", "pyspark[connect]": "pyspark"}


def stated() -> dict[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {name: found for name, found in project["optional-dependencies"].items() if name != "test"}


def test_the_table_is_that_of_the_project() -> None:
    assert set(extras.PACKAGES) == set(stated())
    for extra, requirements in stated().items():
        names = {re.match(r"[\w.-]+(\[connect\])?", one)[0] for one in requirements}  # type: ignore[index]
        wanted = {IMPORTED.get(name, name) for name in names}
        assert wanted <= set(extras.PACKAGES[extra]), extra
        assert {re.split(r"[<>=\[]", one)[0] for one in extras.requirements(extra)} == {
            re.split(r"[<>=\[]", one)[0] for one in requirements
        }


@pytest.fixture
def no_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rookery as a folder on the path, as a checkout has it and `--py-files` sends it: without metadata."""

    def none(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", none)


@pytest.mark.usefixtures("no_metadata")
def test_a_missing_package_is_said_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    extras.need("numpy", "this")
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(MissingExtraError) as caught:
        extras.need("cryptography", "making certificates")
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, RookeryError)
    assert caught.value.name == "cryptography"
    assert str(caught.value) == (
        "making certificates needs the package cryptography, which the extra 'keys' brings: pip install cryptography"
    )
    assert extras.lacking("pyspark.sql").startswith("the package pyspark, which the extra 'spark' brings: pip install")
    assert extras.lacking("nothing.of.ours") == "the package nothing: pip install nothing"


def test_metadata_says_which_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["numpy>=2.0", "pyspark<4.4,>=3.5; extra == 'spark'", 'a[b]>=1 ; extra == "spark"', "c; extra == 'web'"]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: lines)
    assert extras.install_command("spark") == "pip install 'pyspark<4.4,>=3.5' 'a[b]>=1'"
    assert extras.install_command("kafka") == "pip install confluent-kafka"


def test_the_command_says_it_of_any_import(tmp_path: Path) -> None:
    """Also where nobody asked first: `rookery plan fleet.parquet` finds out by importing."""
    hidden = "import sys; sys.modules['pyspark'] = None; from rookery.cli import main; main(sys.argv[1:])"
    (tmp_path / "rules.csv").write_text("subscription_id,where\n1,price < 10\n")
    (tmp_path / "events.csv").write_text("price\n1.0\n")
    for line in (
        "match -s rules.csv -e events.csv -o out",
        "backtest -s rules.csv -e events.csv",
        "diff rules.csv rules.csv --events events.csv",
        "demo",
    ):
        done = subprocess.run(
            [sys.executable, "-c", hidden, *line.split()], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1, done.stderr
        assert "the extra 'spark' brings: pip install" in done.stderr, done.stderr
        assert "a fault of Rookery" not in done.stderr
    code = "import sys; sys.modules['pyspark'] = None; from rookery.spark import match"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtraError: rookery.spark.match needs the package pyspark" in done.stderr
