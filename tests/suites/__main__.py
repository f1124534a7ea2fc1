"""Put public suites to the language: `python -m tests.suites --artemis DIR --qpid DIR --opendds DIR --cesql DIR`."""

from __future__ import annotations

import argparse
from pathlib import Path

from .run import SUITES, report_of


def main() -> int:
    """Print the counts of the suites that are given, and with --all each case that was refused or differed."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites")
    for name in SUITES:
        parser.add_argument(f"--{name}", type=Path, metavar="DIR", help=f"a checkout of {SUITES[name][0]}")
    parser.add_argument("--all", action="store_true", help="each case that was refused or differed")
    given = parser.parse_args()
    for name in SUITES:
        folder = getattr(given, name)
        if folder is not None:
            report = report_of(name, folder)
            print(report.line())  # noqa: T201 - what it is for
            for case, why in [*report.refused, *report.differed] if given.all else []:
                print(f"  {case.due:<8} {case.text}\n           {why}")  # noqa: T201
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
