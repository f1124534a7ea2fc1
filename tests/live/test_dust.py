"""A second independent stack, dust-dds (Rust): 200 samples each way, reliable, in a network namespace of their own."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.wire
SESSION = Path(__file__).with_name("dust_session.py")
# lo has no multicast flag of its own; the route sends the group there, since there is nothing else.
INTO_A_NAMESPACE = 'ip link set lo up && ip link set lo multicast on && ip route add 239.0.0.0/8 dev lo && exec "$@"'


def in_a_namespace(*command: str) -> list[str]:
    return ["unshare", "--net", "sh", "-c", INTO_A_NAMESPACE, "sh", *command]


@pytest.fixture
def namespace() -> None:
    if importlib.util.find_spec("dust_dds") is None:
        pytest.skip("dust-dds is not installed: pip install dust-dds==0.16.0")
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("network namespaces need unshare and ip")
    tried = subprocess.run(in_a_namespace("true"), capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"this machine allows no network namespace: {tried.stderr.strip()}")


@pytest.mark.usefixtures("namespace")
def test_two_hundred_samples_each_way_with_dust_dds() -> None:
    done = subprocess.run(
        in_a_namespace(sys.executable, str(SESSION)), capture_output=True, text=True, check=False, timeout=3_000
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["vendor"] == "0114"
    assert result["ours"] == [[number, "dust" * number] for number in range(200)]
    assert result["theirs"] == [True] * 200
