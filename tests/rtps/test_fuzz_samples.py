"""The fuzzer of samples, types, announcements and filters: 100,000 (ten seconds), `--slow` ten times as many."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).parent.parent.parent / "fuzz" / "samples.py"


@pytest.fixture(scope="module")
def fuzzer() -> ModuleType:
    if not PATH.exists():
        pytest.skip("the fuzzers are part of the checkout, not of the source distribution")
    spec = importlib.util.spec_from_file_location("fuzz_samples", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_samples"] = module
    spec.loader.exec_module(module)
    return module


def test_a_hundred_thousand_nearly_right_words(fuzzer: ModuleType) -> None:
    totals = fuzzer.run(100_000, seed=0)
    # Of each kind some are read and some are not: else nothing was tried.
    for kind in (
        "sample",
        "key",
        "object",
        "information",
        "request",
        "reply",
        "endpoint",
        "filter",
        "condition",
        "plain",
    ):
        assert totals[f"{kind} read"] > 300, kind
        assert totals[f"{kind} refused"] > 3_000, kind


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_a_million_more(fuzzer: ModuleType) -> None:
    for seed in range(1, 11):
        fuzzer.run(100_000, seed)
