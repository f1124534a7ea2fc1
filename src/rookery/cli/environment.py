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


def lock_hash(root: Path) -> str:
    """Return the hash of the lock, as the launcher computes it."""
    try:
        return hashlib.sha256((root / "requirements.lock").read_bytes()).hexdigest()
    except OSError as error:
        raise SetupError(f"cannot read {root / 'requirements.lock'}: {error.strerror}") from error


def stamped(root: Path) -> tuple[str, str] | None:
    """Return the lock's hash and the Python of a finished `.venv` that belongs here, else None.

    It does not belong here when the checkout was moved, its Python is gone, or another Python is asked for now.
    """
    try:
        digest, folder, python = (root / ".venv" / STAMP).read_text().splitlines()
    except (OSError, ValueError):
        return None
    asked = os.environ.get("ROOKERY_PYTHON") or python
    runs = os.access(root / ".venv" / "bin" / "python", os.X_OK)
    return (digest, python) if runs and folder == str(root) and python == asked else None


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
    """Make `.venv` in `root` equal to `requirements.lock`: with uv where there is one, else with venv and pip.

    `guard` is the descriptor of the lock file that the caller holds. An environment that only lags behind the lock is
    brought up to it in place, if there is a uv to do it exactly: whoever is using it keeps the packages that stay.
    """
    folder, lock = root / ".venv", root / "requirements.lock"
    python = folder / "bin" / "python"
    digest, found = lock_hash(root), stamped(root)
    uv = shutil.which("uv") or (shutil.which(folder / "bin" / "uv") if found else None)
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    started = time.monotonic()
    if found and uv:
        say("requirements.lock has changed: bringing .venv up to it")
        (folder / STAMP).write_text(UNFINISHED)
    else:
        version = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
        say(f"making .venv with {version} and {'uv' if uv else 'pip'}: once, and again when requirements.lock changes")
        create(folder, uv=uv, guard=guard)
        say("installing what requirements.lock names")
    packages = entries(lock.read_text())
    tools = folder / "build-tools.lock"
    tools.write_text("".join(packages[name] for name in BUILD_TOOLS if name in packages))
    pip = [uv, "pip"] if uv else [str(python), "-I", "-m", "pip", "--disable-pip-version-check"]
    # The lock is whole, so nothing is to be resolved. An older pip that resolves all the same looks for
    # `coverage[toml]` at its newest version, not at the locked one, and refuses it for want of a hash as soon as a
    # newer one is out.
    strict = [*quiet, "--require-hashes", "--no-deps", "--no-build-isolation"]
    strict += ["--python", str(python)] if uv else []
    failure = "could not install requirements.lock: is the network there, and is there room on the disk?"
    run([*pip, "install", *strict, "-r", str(tools)], guard=guard, failure=failure)
    if uv:  # sync also takes away what the lock no longer names
        sync = [option for option in strict if option != "--no-deps"]  # it never resolves
        run([*pip, "sync", *sync, str(lock)], guard=guard, failure=failure)
    else:
        run([*pip, "install", *strict, "-r", str(lock)], guard=guard, failure=failure)
    site = next((folder / "lib").glob("python*/site-packages"))
    (site / "rookery-checkout.pth").write_text(os.path.relpath(root / "src", site) + "\n")
    finished = folder / f"{STAMP}.new"
    asked = os.environ.get("ROOKERY_PYTHON") or (found[1] if found else "")
    finished.write_text(f"{digest}\n{root}\n{asked}\n")
    finished.replace(folder / STAMP)
    say(f".venv is ready ({time.monotonic() - started:.0f} s)")


def create(folder: Path, *, uv: str | None, guard: int) -> None:
    """Make the empty environment, in place of what is there."""
    clear(folder)
    # The real file of the Python underneath: a link such as `python3` may point to another version next year.
    base = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    by_uv = [uv or "uv", "venv", "--quiet", "--no-project", "--allow-existing", "--python", base, str(folder)]
    by_venv = [base, "-I", "-m", "venv", str(folder)]
    run(by_uv if uv else by_venv, guard=guard, failure=f"could not make an environment with {base}.")


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
            found = stamped(root)
            if found is None or found[0] != lock_hash(root):
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
