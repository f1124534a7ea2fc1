"""Ten thousand mutated sets under a right hash: refused, or right in every answer; a crash is told by its number."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import rookery.matching.compiled as loader

SOURCE = Path(__file__).resolve().parents[2] / "fuzz" / "compiled.py"


@pytest.fixture(scope="module")
def fuzzer() -> Any:
    sys.path.insert(0, str(SOURCE.parent))
    specification = importlib.util.spec_from_file_location("fuzz_compiled", SOURCE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["fuzz_compiled"] = module
    specification.loader.exec_module(module)
    yield module
    sys.path.remove(str(SOURCE.parent))


def fuzzed(mutants: int, seed: int, **environment: str) -> dict[str, int]:
    """Run the fuzzer as a process of its own; return its verdicts."""
    done = subprocess.run(
        [sys.executable, str(SOURCE), "--mutants", str(mutants), "--seed", str(seed)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    verdicts: dict[str, int] = json.loads(done.stdout)
    assert sum(verdicts.values()) == mutants
    return verdicts


@pytest.mark.parametrize("mutants", [3_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_mutated_sets(mutants: int) -> None:
    verdicts = fuzzed(mutants, 0)
    assert verdicts["refused"] > mutants // 2
    assert verdicts["right"] > mutants // 10
    assert verdicts["unproved"] > mutants * 3 // 100
    assert verdicts["same texts"] > mutants // 2_000
    assert verdicts["other texts"] > 0
    assert verdicts.get("refused in use", 0) < mutants * 3 // 100


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_a_million_mutated_sets(part: int) -> None:
    fuzzed(100_000, 1_000_000 + part * 100_000)


@pytest.mark.slow
def test_mutated_sets_keep_to_their_arrays(tmp_path: Path) -> None:
    """With every index of every kernel checked as it is used; the kernels are compiled anew for it, a minute or two."""
    fuzzed(3_000, 20_000, NUMBA_BOUNDSCHECK="1", ROOKERY_CACHE=str(tmp_path))


def faults(fuzzer: ModuleType, count: int) -> int:
    """Count the mutants that are used wrongly or fail in another way than by an error of Rookery's."""
    sets, found = fuzzer.bases(), 0
    for seed in range(count):
        try:
            fuzzer.examine(seed, sets)
        except (AssertionError, IndexError, ValueError, TypeError):
            found += 1
    return found


def test_the_fuzzer_notices_a_proof_that_is_left_out(fuzzer: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "prove_index", lambda index, space: None)
    assert faults(fuzzer, 400) > 3


def test_the_fuzzer_notices_texts_that_are_not_compared(fuzzer: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "prove_texts", lambda view, index: None)
    sets, found = fuzzer.bases(), 0
    for seed in range(150):
        parts = fuzzer.mutant(fuzzer.Random(seed), sets)
        try:
            fuzzer.prove_text(parts)
        except AssertionError:
            found += 1
        except fuzzer.RookeryError:
            continue  # a text that does not parse
    assert found


def test_the_fuzzer_names_the_mutant_that_crashed(fuzzer: ModuleType) -> None:
    """A process that dies is told from one that fails."""

    program = (
        f"import sys; sys.path.insert(0, {str(SOURCE.parent)!r}); import compiled, os, signal\n"
        "compiled.bases = lambda: []\n"
        "compiled.examine = lambda seed, sets: os.kill(os.getpid(), signal.SIGKILL) if seed == 7 else 'refused'\n"
        "compiled.run(20, 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"mutant 7: exit -{signal.SIGKILL}" in done.stderr
