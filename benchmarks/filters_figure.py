"""Draw bytes on the wire against the false-positive rate for every filter, 1,000 endpoints (docs/figures/filters.png).

    python -m benchmarks filters_figure [--endpoints 1000] [--out docs/figures/filters.png]

Each point is a filter that was built and encoded: its payload, and the rate that follows from its contents.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.filters_wire import endpoints, keys_of, patent, payload_and_rate, sedp_bytes, tree_as_printed

from rookery.filters import BlockedBloomFilter, BloomFilter, BloomTree, CuckooFilter, GolombSet, RibbonFilter

__all__ = ["main"]

Make = Callable[[list[str]], Any]
OUT = Path(__file__).resolve().parent.parent / "docs" / "figures" / "filters.png"


def _filled(made: Any, keys: list[str]) -> Any:
    made.add_many(keys)
    return made


def series(count: int) -> dict[str, list[Make]]:
    """Return for each structure the makers of its points."""
    log2 = math.ceil(math.log2((5 * count + 1) / 8))
    rates = [2.0**-power for power in range(1, 15)]
    return {
        "ribbon": [lambda keys, n=n: _filled(RibbonFilter(layers=n), keys) for n in range(1, 15)],
        "Golomb set": [lambda keys, n=n: _filled(GolombSet(remainder_bits=n), keys) for n in range(1, 15)],
        "Bloom": [lambda keys, r=r: _filled(BloomFilter.sized_for(len(keys), r), keys) for r in rates],
        "blocked Bloom": [
            lambda keys, r=r: _filled(BlockedBloomFilter.sized_for(len(keys), r), keys) for r in rates[4:]
        ],
        "cuckoo, compressed": [
            lambda keys, n=n: _filled(CuckooFilter(log2_buckets=log2, slot_bits=n), keys) for n in range(8, 17)
        ],
        "CCF as in seed 001": [patent],
        "Bloom tree, own rows": [
            lambda keys, r=r: _filled(BloomTree.sized_for(len(keys), r), keys) for r in (0.5, 0.25, 0.1, 0.03)
        ],
        "DBCT as in seed 000": [tree_as_printed],
    }


STYLES = {
    "ribbon": {"color": "#0b6e4f", "marker": "o", "linewidth": 2.2},
    "Golomb set": {"color": "#2c7fb8", "marker": "s"},
    "Bloom": {"color": "#555555", "marker": "^"},
    "blocked Bloom": {"color": "#999999", "marker": "v"},
    "cuckoo, compressed": {"color": "#d95f0e", "marker": "D"},
    "CCF as in seed 001": {"color": "#a1330a", "marker": "*", "markersize": 13, "linestyle": "none"},
    "Bloom tree, own rows": {"color": "#7a4fa3", "marker": "P"},
    "DBCT as in seed 000": {"color": "#c2185b", "marker": "X", "linestyle": "none"},
}


def main(arguments: list[str]) -> int:
    """Build every point and draw the figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks filters_figure")
    parser.add_argument("--endpoints", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not installed; see benchmarks/requirements.txt", file=sys.stderr)
        return 2
    matplotlib.use("Agg")
    from matplotlib import pyplot

    count = options.endpoints
    figure, axes = pyplot.subplots(figsize=(9.5, 6.2), dpi=130)
    powers = [power / 4 for power in range(2, 60)]
    axes.plot(
        [2.0**-power for power in powers], [count * power / 8 for power in powers], color="black", linewidth=1,
        linestyle="--", label="floor: E·log2(1/ε) bits",
    )  # fmt: skip
    top, beyond = 36 * count / 8, []
    for label, makers in series(count).items():
        points = [payload_and_rate(make, count, sets=1)[:2] for make in makers]
        print(f"{label}: " + ", ".join(f"{payload:,.0f} B at {rate:.3%}" for payload, rate in points))
        beyond += [f"{label}: {payload / 1000:,.0f} kB at {rate:.3%}" for payload, rate in points if payload > top]
        shown = [point for point in points if point[0] <= top]
        if shown:
            axes.plot(
                [rate for _, rate in shown], [payload for payload, _ in shown], label=label,
                **{"markersize": 5, "linewidth": 1.3, **STYLES[label]},
            )  # fmt: skip
    sedp = sedp_bytes(endpoints(count, 0))
    note = "\n".join(["Beyond the top of this chart", f"the SEDP list itself: {sedp / 1000:,.0f} kB", *beyond])
    axes.text(
        0.985, 0.97, note, transform=axes.transAxes, ha="right", va="top", fontsize=9, color="#7a1f3d",
        bbox={"boxstyle": "round", "facecolor": "#fff4f7", "edgecolor": "#d8a0b4"},
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_ylim(0, top)
    axes.invert_xaxis()
    axes.set_xlabel("false-positive rate given the contents (better to the right)")
    axes.set_ylabel("payload in bytes (header of 16–20 bytes apart)")
    axes.set_title(f"What {count:,} endpoints cost on the wire")
    axes.grid(visible=True, which="major", linewidth=0.4, alpha=0.6)
    axes.legend(fontsize=8.5, loc="upper left", framealpha=0.95)
    figure.tight_layout()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.out)
    print(f"wrote {options.out}; keys like {keys_of(endpoints(1, 0))[0]!r}")
    return 0
