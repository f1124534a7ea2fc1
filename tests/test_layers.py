"""What import-linter's contracts leave open: new packages must be in them, and the sans-I/O rule must name them.

The contracts themselves are a step of `./rookery test`; here we check that no package of `src/rookery` escapes them.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path.parent.name for path in (ROOT / "src" / "rookery").glob("*/__init__.py"))
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
#: From `gateway` down nothing opens a socket, reads a clock or rolls dice; a world makes its dice from its seed.
WITH_EFFECTS = {"cli", "web", "papers", "spark", "live", "simulated"}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_its_place_among_the_layers(package: str) -> None:
    (layers,) = [contract["layers"] for contract in CONTRACTS if contract["type"] == "layers"]
    placed = re.findall(r"rookery\.(\w+)", " ".join(layers))
    assert placed.count(package) == 1, "give it a place in the layers contract in pyproject.toml"


@pytest.mark.parametrize("package", [name for name in PACKAGES if name not in WITH_EFFECTS])
def test_every_package_from_gateway_down_is_kept_free_of_effects(package: str) -> None:
    (effects,) = [contract for contract in CONTRACTS if contract["type"] == "forbidden"]
    assert f"rookery.{package}" in effects["source_modules"], "add it to the contract in pyproject.toml"
    assert {"socket", "asyncio", "time", "random", "pyspark"} <= set(effects["forbidden_modules"])
