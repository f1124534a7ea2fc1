"""The structured fuzzer, 100,000 packets of it (about ten seconds); `--slow` runs ten times as many, of other seeds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PATH = Path(__file__).parent.parent.parent / "fuzz" / "rtps.py"


@pytest.fixture(scope="module")
def fuzzer() -> ModuleType:
    if not PATH.exists():
        pytest.skip("the fuzzers are part of the checkout, not of the source distribution")
    spec = importlib.util.spec_from_file_location("fuzz_rtps", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_rtps"] = module
    spec.loader.exec_module(module)
    return module


def test_a_hundred_thousand_nearly_right_packets(fuzzer: ModuleType) -> None:
    totals = fuzzer.run(100_000, seed=0)
    # The packets must reach the machinery: not all refused, not all taken.
    assert 10_000 < totals["rejected"] < 90_000
    assert totals["events"] > 500
    assert totals["bytes_out"] > 100_000
    assert totals["bad_summaries"] > 100
    assert totals["lapses"] > 100


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_a_million_more(fuzzer: ModuleType) -> None:
    for seed in range(1, 11):
        fuzzer.run(100_000, seed=seed)


def test_the_fuzzer_notices_what_is_raised(fuzzer: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    from rookery.rtps.writer import Writer

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Writer, "receive_acknack", broken)
    with pytest.raises(ZeroDivisionError):
        fuzzer.run(5_000, seed=0)
