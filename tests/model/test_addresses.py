"""Addresses: the kernel reads what Python's own library reads, and networks are ranges."""

from __future__ import annotations

import ipaddress
import subprocess
import sys
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.model.address_kernels import WIDTH
from rookery.model.addresses import address_column, address_of, network_range

PIECES = ["::", ":", ".", "0", "00", "1", "10", "255", "256", "ffff", "F", "12345", "g", " ", "%", "/", "é", "1.2.3.4"]


@given(st.lists(st.one_of(st.none(), st.lists(st.sampled_from(PIECES), max_size=9).map("".join), st.text(max_size=8))))
def test_a_column_is_read_as_its_values_are(texts: list[str | None]) -> None:
    texts = [None if one is None else one.encode(errors="ignore").decode() for one in texts]
    column = address_column(pa.array(texts, pa.large_string()))
    column.validate(full=True)
    assert all(one is None or len(one) in (9, WIDTH) for one in column.to_pylist())
    assert column.to_pylist() == [None if one is None else address_of(one) for one in texts]


def test_every_address_is_read_in_every_spelling_and_every_slice() -> None:
    random = Random(1)
    addresses = [ipaddress.IPv4Address(random.getrandbits(32)) for _ in range(300)]
    six = [ipaddress.IPv6Address(random.getrandbits(128) & random.choice([-1, 0xFFFF << 64, 1])) for _ in range(300)]
    texts = [*map(str, addresses), *map(str, six), *(one.exploded.upper() for one in six)]
    due = [f"{one.version}{one.packed.hex()}" for one in (*addresses, *six, *six)]
    column = pa.array(["x", *texts], pa.large_string())
    assert address_column(column.slice(1)).to_pylist() == due
    assert address_column(column.slice(5, 7)).to_pylist() == due[4:11]


def test_a_network_holds_what_python_says() -> None:
    random = Random(2)
    for _ in range(300):
        network = ipaddress.ip_network((random.getrandbits(32), random.randint(0, 32)), strict=False)
        low, high = network_range(str(network))
        for one in (random.getrandbits(32), int(network.network_address) - 1, int(network.broadcast_address)):
            address = ipaddress.IPv4Address(one % (1 << 32))
            assert (low <= str(address_of(str(address))) <= high) == (address in network)


@pytest.mark.parametrize("text", ["", "10.0.0.0/33", "10.0.0.0/x", "fe80::%a/64", "10.0.0.0/8/8", "::/129", "abc"])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no network"):
        network_range(text)


@pytest.mark.parametrize(
    "module", ["rookery.live.opening", "rookery.live.survey", "rookery.spark.sinks", "rookery.spark.spool"]
)
def test_what_matches_nothing_needs_no_compiler(module: str) -> None:
    """A client, a survey, each process by which Spark plans and commits: Numba would be half of its start."""
    if module.startswith("rookery.spark"):
        pytest.importorskip("pyspark")
    program = f"import sys, {module}; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
