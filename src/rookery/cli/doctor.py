"""`rookery doctor`: what works on this machine, and what to do where something does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rookery.cli.exit_codes import ExitCode
from rookery.cli.options import DomainId, Interface, Json, note, write, write_json
from rookery.errors import SettingsError

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery doctor",
    "rookery doctor --interface eth0 --domain-id 5",
    "rookery doctor --dir /var/lib/rookery --json",
]


def command(
    interface: Interface = "lo",
    domain_id: DomainId = 0,
    folder: Annotated[Path | None, typer.Option("--dir", help="The folder whose disk is tried.")] = None,
    json: Json = False,
) -> int:
    """Try what Rookery needs of this machine: Python, kernels, multicast, ports, clock, disk, Spark, Java, extras.

    A line for each: works, warns, fails, or absent for what is not installed; and what to do. Exit code 1 if one fails.
    """
    from rookery.cli.checks import Surroundings, examine

    if not 0 <= domain_id <= 232:
        raise SettingsError(f"--domain-id {domain_id}: choose one of 0 to 232")
    place = Surroundings(interface, domain_id, (folder or Path()).absolute())
    findings = []
    for finding in examine(place):
        findings.append(finding)
        if not json:
            write(f"{finding.state:<7} {finding.check:<10} {finding.found}")
            if finding.advice:
                write(f"{'':18} -> {finding.advice}")
    if json:
        write_json({"findings": [asdict(finding) for finding in findings]})
    counts = Counter(str(finding.state) for finding in findings)
    note(", ".join(f"{counts[state]} {word}" for state, word in _WORDS.items() if counts[state]))
    return ExitCode.FAILED if counts["fails"] else ExitCode.DONE


_WORDS = {"works": "work", "warns": "warn", "fails": "fail", "absent": "absent"}
