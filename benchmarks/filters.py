"""Filters: ns per key beside the Bloom filters of PyPI, bytes on the wire beside the floor, one topic against many.

    python -m benchmarks filters                                all tables, one run
    python -m benchmarks filters speed|wire|bank|tree|rates     one of them
    python -m benchmarks filters speed --keys 200000 --repeats 3

Peers come from benchmarks/requirements.txt; one that is not installed is named as such. Every figure is measured in
this run; ratios are what to trust. The exit code is 1 if a target (printed on stderr) was missed.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks import filters_bank, filters_speed, filters_tree, filters_wire

__all__ = ["main"]

TABLES = ["speed", "wire", "bank", "tree", "rates"]


def main(arguments: list[str]) -> int:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks filters", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], help="all of them by default")
    parser.add_argument("--keys", type=int, default=1_000_000, help="keys to add and keys to ask for (speed)")
    parser.add_argument("--repeats", type=int, default=7, help="measured passes, the best counts (speed, bank, tree)")
    options = parser.parse_args(arguments)
    tables = options.tables or TABLES
    missed = []
    if "speed" in tables:
        missed += filters_speed.report(keys=options.keys, repeats=options.repeats)
    if "wire" in tables:
        missed += filters_wire.report()
    if "bank" in tables:
        filters_bank.report(repeats=options.repeats)
    if "tree" in tables:
        filters_tree.report(repeats=options.repeats)
    if "rates" in tables:
        filters_tree.report_rates()
    for target in missed:
        print(f"missed: {target}", file=sys.stderr)
    return 1 if missed else 0
