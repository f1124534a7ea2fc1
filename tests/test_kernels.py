"""The compile cache: a second process finds the machine code of the first, and a changed kernel finds none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SMALL_KERNEL = """
from rookery.kernels import kernel

@kernel
def triple(value):
    return 3 * value
"""

PROGRAM = """
import json, sys
sys.path.insert(0, {folder!r})
from kernels_for_test.kernels import triple
assert triple(14) == 42
stats = triple.stats
print(json.dumps([sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "kernels_for_test"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "kernels.py").write_text(SMALL_KERNEL)
    return tmp_path


def run(program: str, cache: Path) -> str:
    environment = {**os.environ, "ROOKERY_CACHE": str(cache)}
    environment.pop("NUMBA_CACHE_DIR", None)
    finished = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=600
    )
    return finished.stdout


def test_a_second_process_does_not_compile_again(folder: Path, tmp_path: Path) -> None:
    program = PROGRAM.format(folder=str(folder))
    hits, misses = json.loads(run(program, tmp_path / "cache"))
    assert (hits, misses) == (0, 1)
    hits, misses = json.loads(run(program, tmp_path / "cache"))
    assert (hits, misses) == (1, 0)


def test_the_cache_folder_is_keyed_by_all_kernel_files(tmp_path: Path) -> None:
    """Numba looks at one file's time only; the folder's name changes when any kernel file does."""
    source = Path(__file__).parents[1] / "src" / "rookery"
    copy = tmp_path / "copy" / "rookery"
    copy.mkdir(parents=True)
    for name in ("__init__.py", "version.py", "kernels.py"):
        (copy / name).write_bytes((source / name).read_bytes())
    (copy / "part").mkdir()
    (copy / "part" / "kernels.py").write_text("ONE = 1\n")
    path = f"import sys; sys.path.insert(0, {str(copy.parent)!r}); "
    program = path + "import rookery.kernels, numba; print(numba.config.CACHE_DIR)"
    before = run(program, tmp_path / "cache")
    assert run(program, tmp_path / "cache") == before
    (copy / "part" / "kernels.py").write_text("ONE = 2\n")
    assert run(program, tmp_path / "cache") != before


def test_a_read_only_cache_still_compiles(folder: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    hits, misses = json.loads(run(PROGRAM.format(folder=str(folder)), blocked))
    assert (hits, misses) == (0, 1)


def test_who_waits_for_a_compilation_is_told_once(tmp_path: Path) -> None:
    """Through the command line's own listener; the second process loads, so it has nothing to say."""
    program = (
        "import numpy as np; from rookery.cli.application import tell_of_compilation; tell_of_compilation();"
        "from rookery.matching.kernels import encode_doubles, encode_integers;"
        "valid, codes = np.ones(2, np.bool_), np.empty((2, 1), np.int64);"
        "encode_doubles(np.zeros(2), valid, codes, 0); encode_integers(np.zeros(2, np.int64), valid, codes, 0);"
        "assert not codes.any()"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "ROOKERY_CACHE": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        ).stderr.splitlines()
        for _ in range(2)
    ]
    assert len(said[0]) == 1
    assert said[0][0].startswith("rookery: compiling kernels, once for this machine")
    assert said[1] == []


def test_a_program_that_sets_up_no_logging_sees_it_too(tmp_path: Path) -> None:
    code = "import numpy as np; from rookery.matching.kernels import encode_doubles;" + (
        "encode_doubles(np.zeros(1), np.ones(1, np.bool_), np.empty((1, 1), np.int64), 0)"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "ROOKERY_CACHE": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        for _ in range(2)
    ]
    assert said[0].startswith("compiling kernels, once for this machine")
    assert said[0].count("\n") == 1
    assert said[1] == ""
