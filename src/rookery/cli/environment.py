"""Make `.venv` for a checkout: what the launcher `./rookery` runs when the stamp does not fit.

Rule 1: only the standard library, and only by path (`python -I environment.py ROOT`): nothing is installed yet.
Rule 2: the stamp is written last. Whatever stops the work half-way (a signal, the network, a full disk) leaves an
environment whose stamp says "unfinished", and the next use makes it again.
Rule 3: one at a time. A second first use waits on the lock file and then finds the work done; the system drops the
lock of a process that dies.
Rule 4: a `.venv` that carries no stamp was made by someone else and is not touched.
Rule 5: nothing runs that the lock does not name with its hash. A package that comes as source (PySpark) is therefore
built by the locked build tools, installed first, and not by whatever an isolated build would fetch.

The project itself is put on the path by a `.pth` file rather than built: no build back end, no network, and the line is
relative, so no spelling of the folder's name can break it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

__all__ = ["STAMP", "SetupError", "main", "make"]

#: Name of the file in `.venv` whose three lines the launcher compares: hash of the lock, checkout, Python asked for.
STAMP = "rookery.stamp"
UNFINISHED = "unfinished\n"
#: What builds a package that comes as source, with what those tools need themselves.
BUILD_TOOLS = ("packaging", "setuptools", "wheel")


class SetupError(Exception):
    """The environment cannot be made; the message is one line for the user."""


def say(text: str) -> None:
    """Tell the user, on stderr: stdout belongs to the command that follows."""
    sys.stderr.write(f"rookery: {text}\n")
    sys.stderr.flush()


def wanted_stamp(root: Path) -> str:
    """Return what the stamp must say for the checkout at `root` as it is now."""
    try:
        digest = hashlib.sha256((root / "requirements.lock").read_bytes()).hexdigest()
    except OSError as error:
        raise SetupError(f"cannot read {root / 'requirements.lock'}: {error.strerror}") from error
    return f"{digest}\n{root}\n{os.environ.get('ROOKERY_PYTHON', '')}\n"


def is_current(root: Path) -> bool:
    """Say whether `.venv` was finished for this lock, this folder and, where one is asked for, this Python."""
    try:
        stamped = (root / ".venv" / STAMP).read_text().splitlines()
    except OSError:
        return False
    wanted = wanted_stamp(root).splitlines()
    same_python = not os.environ.get("ROOKERY_PYTHON") or stamped[2:3] == wanted[2:3]
    return stamped[:2] == wanted[:2] and same_python and os.access(root / ".venv" / "bin" / "python", os.X_OK)


def run(command: Sequence[str], *, guard: int, failure: str) -> None:
    """Run one step, its output on stderr; it holds the lock too, so a step that outlives us still keeps others out."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
    environment["PIP_USER"] = "0"  # a user's own default; pip refuses it inside an environment
    finished = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment, pass_fds=(guard,), check=False
    )
    if finished.returncode != 0:
        raise SetupError(f"{failure} The reason is above; run it again when it is mended")


def clear(folder: Path) -> None:
    """Empty `folder`, leaving only an unfinished stamp, which goes first so that no reader trusts what is left."""
    if folder.exists() and any(folder.iterdir()) and not (folder / STAMP).exists():
        raise SetupError(f"{folder} was not made by ./rookery: move it away, then run ./rookery again")
    folder.mkdir(exist_ok=True)
    (folder / STAMP).write_text(UNFINISHED)
    for child in folder.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        elif child.name != STAMP:
            child.unlink()


def entries(lock: str) -> dict[str, str]:
    """Return the entries of a lock by package name: the line that pins it and the lines of hashes that follow."""
    found: dict[str, str] = {}
    name = ""
    for line in lock.splitlines(keepends=True):
        if not line.startswith((" ", "#")) and "==" in line:
            name = line.partition("==")[0]
        if name:
            found[name] = found.get(name, "") + line
    return found


def make(root: Path, *, guard: int) -> None:
    """Make `.venv` in `root` from `requirements.lock`: with uv where it is on the path, else with venv and pip.

    `guard` is the descriptor of the lock that the caller holds.
    """
    folder, lock = root / ".venv", root / "requirements.lock"
    stamp = wanted_stamp(root)
    # The real file of the Python underneath: a link such as `python3` may point to another version next year.
    base = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    python = str(folder / "bin" / "python")
    uv = shutil.which("uv")
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    version = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
    say(f"making .venv with {version} and {'uv' if uv else 'pip'}: once, and again when requirements.lock changes")
    started = time.monotonic()
    clear(folder)
    if uv:
        create = [uv, "venv", "--quiet", "--no-project", "--allow-existing", "--python", base, str(folder)]
        install = [uv, "pip", "install", *quiet, "--python", python]
    else:
        create = [base, "-I", "-m", "venv", str(folder)]
        install = [python, "-I", "-m", "pip", "install", *quiet, "--disable-pip-version-check"]
    run(create, guard=guard, failure=f"could not make an environment with {base}.")
    packages = entries(lock.read_text())
    say(f"installing the {len(packages)} packages of requirements.lock")
    tools = folder / "build-tools.lock"
    tools.write_text("".join(packages[name] for name in BUILD_TOOLS if name in packages))
    for requirements in (tools, lock):
        run(
            [*install, "--require-hashes", "--no-build-isolation", "-r", str(requirements)],
            guard=guard,
            failure="could not install requirements.lock: is the network there, and is there room on the disk?",
        )
    site = next((folder / "lib").glob("python*/site-packages"))
    (site / "rookery-checkout.pth").write_text(os.path.relpath(root / "src", site) + "\n")
    unfinished = folder / f"{STAMP}.new"
    unfinished.write_text(stamp)
    unfinished.replace(folder / STAMP)
    say(f".venv is ready ({time.monotonic() - started:.0f} s)")


def main(arguments: Sequence[str]) -> int:
    """Make the environment of the checkout named by the one argument, unless another process has just done it."""
    root = Path(arguments[0])
    try:
        with (root / ".venv.lock").open("w") as guard:
            try:
                fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("another ./rookery is making .venv: waiting for it")
                fcntl.flock(guard, fcntl.LOCK_EX)
            if not is_current(root):
                make(root, guard=guard.fileno())
    except SetupError as error:
        say(str(error))
        return 1
    except OSError as error:
        say(f"could not make .venv: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted: .venv is unfinished and will be made again on the next use")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
