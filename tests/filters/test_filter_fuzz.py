"""A million nearly right containers: each is a filter or a `FilterError` (about half a minute)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from rookery.errors import FilterError
from rookery.filters import from_bytes

SOURCE = Path(__file__).resolve().parents[2] / "fuzz" / "filters.py"


@pytest.fixture(scope="module")
def fuzzer():
    if not SOURCE.exists():
        pytest.skip("fuzz/filters.py is not in this checkout")
    specification = importlib.util.spec_from_file_location("fuzz_filters", SOURCE)
    module = importlib.util.module_from_spec(specification)
    sys.modules["fuzz_filters"] = module
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("decodes", [200_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_mutated_containers(fuzzer, decodes):
    verdicts, _ = fuzzer.run(decodes=decodes, seed=20)
    assert sum(verdicts.values()) >= decodes
    decoded = {name for name in verdicts if not name.startswith("rejected")}
    assert decoded == {
        "BloomFilter",
        "CountingBloomFilter",
        "BlockedBloomFilter",
        "BloomTree",
        "CuckooFilter",
        "RibbonFilter",
        "GolombSet",
        "ObserverFilter",
    }
    assert verdicts["rejected"] > decodes // 10


def test_memory_is_bounded_by_the_message(fuzzer):
    """The headers that promise most: each is refused before anything of that size is made."""
    promises = [
        bytes.fromhex("cf010100000000000000000018010000ffffff7f"),  # 2^24 buckets in no bytes
        bytes.fromhex("d10100200000000000000000ffffffff00000000"),  # four billion columns
        bytes.fromhex("d10100200000000000000000000000000040ffff"),  # a delta of 65,535 values
        bytes.fromhex("d20100070000000000000000000000ff03200000"),  # four billion values
        bytes.fromhex("d3010001000000000000000000ffffff"),  # four billion bits
        bytes.fromhex("db011001ffff0000000000000000000000000000"),  # 65,535 nodes
    ]
    for data in promises:
        with pytest.raises(FilterError):
            from_bytes(data)
    widest = bytes.fromhex("cf01010000000000000000000c01000000100000") + b"\x77" * 512
    decoded = from_bytes(widest)  # 8192 empty slots in 512 bytes: the best ratio there is
    assert fuzzer.held_bytes(decoded) <= fuzzer.EXPANSION * len(widest)


def test_the_fuzzer_would_notice(fuzzer, monkeypatch):
    """A decoder that lets another error out, or that grows beyond the message, must not pass."""

    def careless(data, *, domain_key=None):
        raise IndexError("not a FilterError")

    monkeypatch.setattr(fuzzer, "from_bytes", careless)
    with pytest.raises(IndexError):
        fuzzer.run(decodes=10, seed=1)
    monkeypatch.undo()
    monkeypatch.setattr(fuzzer, "EXPANSION", 0)
    monkeypatch.setattr(fuzzer, "OBJECTS", 0)
    with pytest.raises(AssertionError, match="in memory"):
        fuzzer.run(decodes=10, seed=1)
