"""Fast DDS as Debian has it: it finds us by its `initialPeersList`, without multicast; its filter is gone by, and its
types are learned and compared.

The peer is built from `fastdds_peer.cpp`; where the library, a compiler or namespaces are missing this is skipped.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.wire
HERE = Path(__file__).parent
#: Nothing but loopback, and no multicast on it.
ALONE = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


@pytest.fixture
def peer(tmp_path: Path) -> Path:
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("network namespaces need unshare and ip")
    tried = subprocess.run([*ALONE, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"this machine allows no network namespace: {tried.stderr.strip()}")
    if shutil.which("g++") is None or not Path("/usr/include/fastdds").exists():
        pytest.skip("Fast DDS needs g++ and libfastrtps-dev, as Debian names them")
    built = tmp_path / "peer"
    source = str(HERE / "fastdds_peer.cpp")
    subprocess.run(["g++", "-O0", "-std=c++14", source, "-o", built, "-lfastrtps", "-lfastcdr"], check=True)
    return built


def test_its_filtered_subscriber_gets_exactly_its_samples_without_multicast(peer: Path) -> None:
    session = [sys.executable, str(HERE / "fastdds_session.py"), str(peer)]
    done = subprocess.run([*ALONE, *session], capture_output=True, text=True, check=False, timeout=3_000)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["theirs"] == [number for number in range(1_000) if number % 100 < 10]
    assert result["ours"] == [0, 1, 2, 3, 4]
    assert result["learned"] == {"symbol": "string", "price": "float64", "size": "int64"}
    assert result["refused"].endswith("price is float64 there, int64 here")
    # A thousand samples of some 60 octets were written; nine in ten were not sent.
    assert result["bytes out"] < 40_000
