"""An interface that is not loopback: announcements and data go over it, and its network is the allowed one."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SESSION = Path(__file__).with_name("interface_session.py")
WITH_AN_INTERFACE = (
    "ip link add rk0 type veth peer name rk1 && ip addr add 10.77.0.1/24 dev rk0 && ip link set rk0 up "
    '&& ip link set rk1 up && ip link set lo up && exec "$@"'
)


def test_two_nodes_on_an_interface_of_their_own() -> None:
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("network namespaces need unshare and ip")
    command = ["unshare", "--net", "sh", "-c", WITH_AN_INTERFACE, "sh"]
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"this machine allows no network namespace with an interface: {tried.stderr.strip()}")
    done = subprocess.run([*command, sys.executable, str(SESSION)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"got": [5, 6, 7, 8, 9], "host": "10.77.0.1", "networks": ["10.77.0.0/24"]}
