"""A package from the registry in a folder of its own, for what only tests run: installed once, kept in the cache.

An environment that uv made has no pip, and one that pip made has no uv: whichever is there installs. Where neither can,
the test skips and says why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def installed(requirement: str, folder: Path, *, holds: str) -> Path:
    """Return `folder` with the package in it; `holds` is a name in it that says that it is whole."""
    if not (folder / holds).exists():
        fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
        done = subprocess.run(
            [*installer(), "--quiet", "--target", str(fresh), requirement], capture_output=True, text=True, check=False
        )
        if done.returncode:
            shutil.rmtree(fresh, ignore_errors=True)
            said = (done.stderr.strip() or "the installer failed").splitlines()[-1]
            pytest.skip(f"{requirement} cannot be installed: {said}")
        try:
            fresh.replace(folder)
        except OSError:  # another worker was quicker
            shutil.rmtree(fresh)
    return folder


def installer() -> list[str]:
    """Return the command that installs for this Python."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    return [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
