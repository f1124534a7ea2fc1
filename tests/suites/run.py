"""The suites by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from .cases import Case, Report, judged
from .cesql_cases import read_cesql
from .cpp_cases import read_opendds
from .java_cases import ARTEMIS, QPID, read_java

__all__ = ["SUITES", "report_of"]

SUITES: dict[str, tuple[str, Callable[[Path], Iterable[Case]]]] = {
    "artemis": ("apache/activemq-artemis", lambda folder: read_java(folder, ARTEMIS)),
    "qpid": ("apache/qpid-broker-j", lambda folder: read_java(folder, QPID)),
    "opendds": ("OpenDDS/OpenDDS", read_opendds),
    "cesql": ("cloudevents/sdk-java", read_cesql),
}


def report_of(name: str, folder: Path) -> Report:
    """Return what the language says of a suite."""
    return judged(name, SUITES[name][1](folder))
