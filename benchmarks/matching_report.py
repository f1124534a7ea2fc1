"""How the matching benchmark prints what it measured: the table, the bars, the floor."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.matching_peers import PACKAGES
from benchmarks.workloads import WORKLOADS

__all__ = ["bars", "header", "print_bars", "print_floor", "print_header", "print_table"]

#: workload, size, and how many times faster than the row scan `bitmap` is to be.
BARS = (("range", 10_000, 50), ("range", 100_000, 50), ("range", 1_000_000, 50), ("device", 100_000, 1000))
MOST_BYTES = 200
BITMAP = "bitmap (indices)"
COMPILED = ("row scan", "row lists", "column scan")


def header() -> dict[str, Any]:
    """Return the machine and the versions."""
    versions = {}
    for package in ("numpy", "numba", "pyarrow", *PACKAGES.values()):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    cpu = Path("/proc/cpuinfo").read_text()
    model = next((line.split(":", 1)[1].strip() for line in cpu.splitlines() if line.startswith("model name")), "?")
    return {
        "machine": f"{model}, {'AVX-512' if 'avx512f' in cpu else 'no AVX-512'}, bound to one core",
        "python": platform.python_version(),
        "versions": versions,
    }


def print_header(head: dict[str, Any]) -> None:
    """Print the machine, the versions and how to read the table."""
    print(f"{head['machine']}; Python {head['python']}, " + ", ".join(f"{k} {v}" for k, v in head["versions"].items()))
    print(
        "Events per second of CPU time, best of 3 after a warm-up (*: one pass). Same subscriptions and events for all."
    )
    print("The scans read ready matrices; bitmap reads an Arrow batch and returns index arrays (indices) or an Arrow")
    print("table with ids (match_many), as the other engines do; Polars and DuckDB hold the events in their own form.")


def print_table(measured: list[dict[str, Any]]) -> None:
    """Print events/s by system and size, then what building took and holds, for each workload."""
    for workload in dict.fromkeys(cell["workload"] for cell in measured):
        cells = [cell for cell in measured if cell["workload"] == workload]
        print(f"\n{workload}: {WORKLOADS[workload].describe()}")
        names = list(dict.fromkeys(name for cell in cells for name in cell["systems"]))
        _row("events/s", [_short(cell["size"]) for cell in cells])
        for name in names:
            _row(name, [_rate(cell["systems"].get(name, {})) for cell in cells])
        _row("matches per event", [f"{cell['matches_per_event']:.3g}" for cell in cells])
        _row("build, s", [""] * len(cells))
        for name in names:
            found = [cell["systems"].get(name, {}) for cell in cells]
            if any("build" in one for one in found):
                _row(f"  {name}", [f"{one['build']:.2f}" if "build" in one else "–" for one in found])
        _row("bytes per subscription", [""] * len(cells))
        for name in names:
            found = [(cell["systems"].get(name, {}).get("nbytes"), cell["size"]) for cell in cells]
            if any(held for held, _ in found):
                _row(f"  {name}", [f"{held / size:.0f}" if held else "–" for held, size in found])
        for name in names:
            for cell in cells:
                reason = cell["systems"].get(name, {}).get("reason")
                if reason:
                    print(f"    – {name} at {_short(cell['size'])}: {reason}")


def _row(name: str, values: list[str]) -> None:
    print(f"  {name:<26}" + "".join(f"{value:>14}" for value in values))


def _short(size: int) -> str:
    for unit, factor in (("M", 1_000_000), ("k", 1_000)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size:,}"


def _rate(found: dict[str, Any]) -> str:
    if "rate" not in found:
        return "–"
    rate = found["rate"]
    return (f"{rate:,.0f}" if rate >= 100 else f"{rate:.2f}") + ("*" if found.get("passes") == 1 else "")


def bars(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the figures that the engine is to reach, and what it reached."""
    found = []
    for cell in cells:
        systems = cell["systems"]
        ours = systems[BITMAP]
        ratios = {name: ours["rate"] / systems[name]["rate"] for name in COMPILED}
        rounds = [a / b for a, b in zip(ours["rates"], systems["row scan"]["rates"], strict=True)]
        others = {name: one["rate"] for name, one in systems.items() if not name.startswith("bitmap") and "rate" in one}
        fastest = max(others, key=others.__getitem__)
        wanted = next((bar for name, size, bar in BARS if (name, size) == (cell["workload"], cell["size"])), None)
        found.append(
            {
                "workload": cell["workload"],
                "size": cell["size"],
                "wanted": wanted,
                "ratios": ratios,
                "rounds": rounds,
                "fastest": fastest,
                "over_fastest": ours["rate"] / others[fastest],
                "bytes": ours["nbytes"] / cell["size"],
            }
        )
    return found


def print_bars(found: list[dict[str, Any]]) -> None:
    """Print the ratios; where a bar is set, whether it is met against each compiled scan."""
    print("\nbitmap (indices) over the compiled scans, and over the fastest of everything else in the table")
    print(
        f"  {'':<14}{'row scan':>10}{'in 3 rounds':>16}{'row lists':>11}{'column scan':>13}   {'fastest other':<26}bar"
    )
    for one in found:
        span = f"{min(one['rounds']):.1f}–{max(one['rounds']):.1f}"
        ratios = one["ratios"]
        verdict = ""
        if one["wanted"]:
            verdict = f"≥ {one['wanted']}: " + ", ".join(
                f"{name} {'met' if ratios[name] >= one['wanted'] else 'MISSED'}" for name in COMPILED
            )
        print(
            f"  {one['workload'] + ' ' + _short(one['size']):<14}{ratios['row scan']:>10.1f}{span:>16}"
            f"{ratios['row lists']:>11.1f}{ratios['column scan']:>13.1f}   "
            f"{one['over_fastest']:>7.1f} {one['fastest']:<18}{verdict}"
        )
    heaviest = max(found, key=lambda one: one["bytes"])
    verdict = "met" if heaviest["bytes"] <= MOST_BYTES else "MISSED"
    where = f"{heaviest['workload']} {_short(heaviest['size'])}"
    print(f"  bytes per subscription ≤ {MOST_BYTES}: at most {heaviest['bytes']:.0f} ({where}): {verdict}")


def print_floor(result: dict[str, Any]) -> None:
    """Print what the kernel reads per event against what a core can read, and where the time of a batch goes."""
    speeds = result["bandwidth"]
    print("\nread bandwidth of one core, GB/s: " + ", ".join(f"{level} {speed:.0f}" for level, speed in speeds.items()))
    print("what the kernel reads per event; GB/s of lines it reaches; µs per event in each part of a batch")
    print(
        f"  {'':<14}{'blocks':>8}{'lines':>8}{'KB':>9}{'rows checked':>14}{'GB/s':>7}"
        f"{'of L2':>7}{'of L3':>7}{'of DRAM':>8}"
        f"{'encode':>9}{'kernel':>10}{'order':>8}{'names':>8}"
    )
    for cell in result["cells"]:
        read, parts = cell["walk"], cell["split"]
        speed = read["line_bytes"] / parts["kernel"] / 1e3 if parts["kernel"] else 0.0
        shares = "".join(
            f"{100 * speed / speeds[level]:>{width}.0f}%" for level, width in (("L2", 6), ("L3", 6), ("DRAM", 7))
        )
        print(
            f"  {cell['workload'] + ' ' + _short(cell['size']):<14}{read['blocks']:>8.1f}{read['lines']:>8.0f}"
            f"{read['line_bytes'] / 1e3:>9.2f}{read['rows_checked']:>14.1f}{speed:>7.1f}{shares}"
            + "".join(
                f"{parts[name]:>{width}.2f}"
                for name, width in (("encode", 9), ("kernel", 10), ("order", 8), ("names", 8))
            )
        )
