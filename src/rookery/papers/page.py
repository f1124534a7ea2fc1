"""One page for all claims: HTML that needs nothing beside it, for a phone, for paper, for light and dark.

Rule 1: no script, no font, no picture from elsewhere; figures are inline SVG whose ink follows the reader's colors.
Rule 2: the page is a function of the results, so the same results give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from rookery.papers.drawing import INK, PAPER
from rookery.papers.results import Result
from rookery.papers.verdicts import Verdict

__all__ = ["SEEDS", "inline", "make_page"]

#: The seeds' titles and what they are about, in our words.
SEEDS = {
    "seed-000": "Seed 000 · discovery with a hierarchical Bloom filter (HBF_ADA)",
    "seed-001": "Seed 001 · discovery with a compressed cuckoo filter",
    "seed-002": "Seed 002 · an interest-oriented overlay with semantic identities",
    "seed-003": "Seed 003 · K-D partition of the information space, Spanhop, MGNP",
    "seed-004": "Seed 004 · matching with a predicate matrix",
    "beyond": "Beyond the seeds",
}


def make_page(results: Sequence[Result]) -> str:
    """Return the page."""
    first = results[0].manifest
    style = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    kind = "quick parameters" if first["quick"] else "full parameters"
    commits = list(dict.fromkeys(str(result.manifest["commit"])[:12] for result in results))
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<link rel="icon" href="data:,">',
        f"<title>Rookery: the claims ledger</title><style>{style}</style></head><body>",
        "<header><h1>The claims ledger</h1>",
        "<p>Every claim of the five seeds, run with Rookery’s own modules. Axes show our numbers: the seeds’ figures "
        "have no readable axes, so what is checked is stated numbers, formulas, orders, trends and crossovers.</p>",
        f'<p class="made">{len(results)} claims · {kind} · seed {first["seed"]} · commit'
        f"{'s' if len(commits) > 1 else ''} {escape(', '.join(commits))}</p>",
        _legend(results),
        "</header><nav>",
        _contents(results),
        "</nav><main>",
    ]
    for seed, title in SEEDS.items():
        mine = [result for result in results if result.claim.seed == seed]
        if mine:
            parts += [f'<section id="{seed}"><h2>{escape(title)}</h2>', *map(_card, mine), "</section>"]
    parts.append("</main></body></html>")
    return "\n".join(parts) + "\n"


def _legend(results: Sequence[Result]) -> str:
    rows = []
    for verdict in Verdict:
        count = sum(result.judgment.verdict is verdict for result in results)
        rows.append(f"<li>{_badge(verdict)} <b>{count}</b> {escape(verdict.meaning)}</li>")
    return f'<ul class="legend">{"".join(rows)}</ul>'


def _contents(results: Sequence[Result]) -> str:
    rows = [
        f'<tr><td><a href="#{result.claim.name}">{escape(result.claim.name)}</a></td>'
        f"<td>{escape(result.judgment.figure)}</td><td>{_badge(result.judgment.verdict)}</td></tr>"
        for result in results
    ]
    head = "<tr><th>claim</th><th>our figure</th><th>verdict</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _card(result: Result) -> str:
    claim, judgment, manifest = result.claim, result.judgment, result.manifest
    seeds = f"{manifest['runs']} seed{'s' if manifest['runs'] > 1 else ''}"
    tasks = len(manifest["parameters"])
    timed = " · rests on a measured time" if claim.timed else ""
    changed = (
        f'<p class="changed">The committed verdict is “{escape(str(claim.verdict))}”.</p>' if result.changed else ""
    )
    data = " · ".join(
        f'<a href="{claim.name}/{file}">{file}</a>'
        for file in ("data.csv", "data.parquet", "figure.svg", "figure.png", "verdict.json", "manifest.json")
    )
    return (
        f'<article class="claim" id="{claim.name}" data-claim="{claim.name}">'
        f'<h3><a href="#{claim.name}">{escape(claim.name)}</a> {_badge(judgment.verdict)}</h3>'
        f'<p class="where">{escape(claim.section)}{timed}</p>'
        f'<p class="says">{escape(claim.says)}</p>'
        f"<figure>{inline(result.svg, claim.name)}<figcaption>{escape(judgment.figure)}</figcaption></figure>"
        f"<p>{escape(judgment.why)}</p>{changed}"
        f'<p class="data">{tasks} configuration{"s" if tasks > 1 else ""} × {seeds} · {data}</p></article>'
    )


def _badge(verdict: Verdict) -> str:
    return f'<span class="badge {verdict.name.lower()}">{escape(str(verdict))}</span>'


def inline(svg: bytes, name: str) -> str:
    """Return a figure to be put into a page: no prolog, ids of its own, the reader's ink, no paper."""
    text = svg.decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*pt"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*pt"', r"\1", text))
    prefix = name.replace("/", "-")
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'(href=")#([^"]+)"', rf'\1#{prefix}-\2"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    text = text.replace(INK, "currentColor").replace(f"fill: {PAPER}", "fill: none")
    box = re.search(r'viewBox="0 0 ([\d.]+)', text)
    wide = ' class="wide"' if box and float(box[1]) > 500 else ""  # two panels: scrolled on a phone, not shrunk
    return text.replace("<svg ", f'<svg{wide} role="img" aria-label="figure of {escape(name)}" ', 1).strip()
