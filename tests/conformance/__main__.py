"""`python -m tests.conformance`: run the suite, and print which case holds on which network, live and in the world."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

NODE = re.compile(r"::test_(?P<case>\w+)\[(?P<network>[^\]]+)\]$")


class Table:
    """Collects what became of each case on each network."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found = NODE.search(report.nodeid)
        if found is None or not found["network"].endswith((" live", " world")):
            return
        place = found["case"].replace("_", " "), found["network"]
        if report.failed:
            self.answers[place] = "FAILED"
        elif report.when == "call":
            self.answers[place] = str(dict(report.user_properties).get("answer", "yes"))

    def lines(self) -> list[str]:
        """Return the table as Markdown; a case of the client alone has no world."""
        networks = list(dict.fromkeys(network for _, network in self.answers))
        networks.sort(key=lambda name: name.rpartition(" ")[2])
        rows = [["case", *networks], ["---"] * (len(networks) + 1)]
        for case in dict.fromkeys(case for case, _ in self.answers):
            rows.append([case, *(self.answers.get((case, network), "") for network in networks)])
        return [f"| {' | '.join(row)} |" for row in rows]


def main() -> int:
    table = Table()
    code = pytest.main(["-q", "-p", "no:cacheprovider", str(Path(__file__).parent), *sys.argv[1:]], plugins=[table])
    sys.stdout.write("\n".join(["", *table.lines(), ""]))
    return int(code)


if __name__ == "__main__":
    raise SystemExit(main())
