"""What a claim leaves behind: `results/<name>/` with data, figure, verdict and manifest.

Everything but the manifest's `seconds`, and the columns that an experiment names as times, is a function of the code,
the seed and the versions named in the manifest: same seed, same bytes.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rookery.papers.claims import Claim
from rookery.papers.drawing import draw, encode
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.version import __version__

__all__ = ["Result", "read_result", "read_seconds", "write_result"]

_PACKAGES = ("matplotlib", "numba", "numpy", "pyarrow", "pyspark", "scipy")


@dataclass(frozen=True, slots=True)
class Result:
    """One claim, judged."""

    claim: Claim
    judgment: Judgment
    manifest: dict[str, Any]
    svg: bytes

    @property
    def changed(self) -> bool:
        """Whether the verdict is another than the committed one."""
        return self.judgment.verdict is not self.claim.verdict

    def summary(self) -> dict[str, Any]:
        """Return the verdict as a document."""
        return {
            "claim": self.claim.name,
            "section": self.claim.section,
            "says": self.claim.says,
            "verdict": str(self.judgment.verdict),
            "committed": str(self.claim.verdict),
            "rests_on_a_time": self.claim.timed,
            "figure": self.judgment.figure,
            "why": self.judgment.why,
        }


def write_result(folder: Path, claim: Claim, table: Table, *, seed: int, quick: bool, seconds: float) -> Result:
    """Judge a table and write everything about it into `folder/<name>/`."""
    import pyarrow.csv
    import pyarrow.parquet

    experiment = claim.experiment
    sweep = experiment.sweep(quick=quick)
    target = folder / claim.name
    target.mkdir(parents=True, exist_ok=True)
    columns = table.to_arrow()
    pyarrow.parquet.write_table(columns, target / "data.parquet", compression="zstd")
    pyarrow.csv.write_csv(columns, target / "data.csv")
    svg, png = encode(draw(experiment.figure, table), claim.name)
    (target / "figure.svg").write_bytes(svg)
    (target / "figure.png").write_bytes(png)
    manifest = {
        "claim": claim.name,
        **_commit(),
        "seed": seed,
        "quick": quick,
        "runs": sweep.runs,
        "parameters": [dict(configuration) for configuration in sweep.configurations],
        "times": list(experiment.times),
        "versions": _versions(),
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "seconds": round(seconds, 2),
    }
    result = Result(claim, experiment.check(table), manifest, svg)
    _write_json(target / "verdict.json", result.summary())
    _write_json(target / "manifest.json", manifest)
    return result


def read_result(folder: Path, claim: Claim, *, quick: bool) -> Result | None:
    """Return what an earlier run of the same kind left behind, or None."""
    target = folder / claim.name
    try:
        manifest = json.loads((target / "manifest.json").read_text(encoding="utf-8"))
        found = json.loads((target / "verdict.json").read_text(encoding="utf-8"))
        judgment = Judgment(Verdict(found["verdict"]), found["figure"], found["why"])
        svg = (target / "figure.svg").read_bytes()
    except (OSError, ValueError, KeyError):
        return None
    return Result(claim, judgment, manifest, svg) if manifest.get("quick") == quick else None


def read_seconds(folder: Path, claim: Claim, *, quick: bool) -> tuple[float, int] | None:
    """Return the seconds of CPU that an earlier run of the same kind took, and its tasks, where one was made."""
    try:
        manifest = json.loads((folder / claim.name / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if manifest.get("quick") != quick:
        return None
    return float(manifest["seconds"]), manifest["runs"] * len(manifest["parameters"])


def _write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@functools.cache
def _commit() -> dict[str, Any]:
    """Return the commit of a checkout and whether its sources were changed since; the version of an installed one."""
    package = Path(__file__).parents[1]

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", *arguments], cwd=package, capture_output=True, text=True, check=True, timeout=20
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout.strip()

    commit = git("rev-parse", "HEAD") if git("ls-files", "version.py") else None
    if not commit:
        return {"commit": f"version {__version__}", "sources_changed": False}
    return {"commit": commit, "sources_changed": bool(git("status", "--porcelain", "--", "."))}


@functools.cache
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "rookery": __version__}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
