"""The package as others get it: a built wheel and `pip install .` in a fresh environment.

The fresh environments see the packages of the current one through a `.pth` file, so nothing is fetched; Rookery itself
comes from the wheel alone, because a `.pth` file inside a folder that was added by another one is not read.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from rookery.version import __version__

ROOT = Path(__file__).parents[1]
HEAVY = ("numba", "pyspark", "typer", "rich", "matplotlib", "pandas", "hypothesis")

needs_pip = pytest.mark.skipif(
    importlib.util.find_spec("ensurepip") is None, reason="this Python has no ensurepip to bring pip"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def fresh_environment(folder: Path, *, pip: bool) -> Path:
    """Make an environment that sees the packages of this one; return its Python."""
    subprocess.run([sys.executable, "-m", "venv", *([] if pip else ["--without-pip"]), folder], check=True)
    (site,) = (folder / "lib").glob("python*/site-packages")
    (site / "current.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


def outside(command: list[str | Path], folder: Path) -> str:
    """Run a command from `folder`, far from the sources; return what it prints."""
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def check_installed(python: Path, folder: Path) -> None:
    where = outside([python, "-c", "import rookery; print(rookery.__file__)"], folder).strip()
    assert Path(where).is_relative_to(python.parents[1])
    assert outside([python.parent / "rookery", "--version"], folder) == f"rookery {__version__}\n"
    assert outside([python, "-m", "rookery", "--version"], folder) == f"rookery {__version__}\n"
    version = outside([python, "-c", "from importlib.metadata import version; print(version('rookery'))"], folder)
    assert version == f"{__version__}\n"
    refused = subprocess.run(
        [python.parent / "rookery", "test"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("rookery: `rookery test` needs a checkout")


def test_the_wheel_holds_every_module_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "rookery").rglob("*.py")}
    assert sources <= set(names)
    assert "rookery/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if "__pycache__" in name or name.startswith(("tests", "benchmarks"))]
    assert {name.partition("/")[0] for name in names} == {"rookery", f"rookery-{__version__}.dist-info"}


@needs_pip
def test_a_wheel_and_a_plain_install_work_in_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    python = fresh_environment(tmp_path / "fresh", pip=True)
    pip: list[str | Path] = [
        python,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
        "--no-deps",
        "--no-compile",
    ]
    outside([*pip, wheel], tmp_path)
    check_installed(python, tmp_path)
    outside([*pip, "--force-reinstall", "--no-build-isolation", ROOT], tmp_path)
    check_installed(python, tmp_path)


def test_importing_rookery_stays_light() -> None:
    program = "import sys, rookery; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    )
    assert "rookery" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_the_lock_names_no_registry_and_hashes_everything() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert not re.findall(r"https?:|file:|--index|--find-links|--extra|^-e|^\.|/", lock, flags=re.MULTILINE)
    pinned = re.findall(r"^([a-z0-9-]+)==[^\n]*\\\n    --hash=sha256:[0-9a-f]{64}", lock, flags=re.MULTILINE)
    assert len(pinned) == len(re.findall(r"^\S", lock, flags=re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    names = {re.match(r"[A-Za-z0-9_.-]+", requirement)[0].lower().replace("_", "-") for requirement in wanted}  # type: ignore[index]
    assert names <= set(pinned), f"the lock lacks {names - set(pinned)}: make it again (see CONTRIBUTING.md)"
