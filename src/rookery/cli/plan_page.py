"""The page of a plan: one file of HTML with its styles and figures inside, light or dark as the reader's screen is.

Figures are SVG made here from the plan's numbers: bars of octets by protocol, each cut into the parts of the traffic,
with and without ROS 2's own topics; the memory of a node; and who needs to hear of whom. Every mark has a tooltip with
its number, and everything drawn is also in the tables below.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from rookery.discovery.planning import DiscoveryPlan, PlanView, Topology
from rookery.discovery.planning.interests import TopologyInterests
from rookery.discovery.planning.traffic import PARTS
from rookery.discovery.planning.verdict import in_words

__all__ = ["page"]

_TITLES = {
    "unicast": "All topics",
    "unicast_without_infrastructure": "Without the topics that ROS 2 gives to every node",
}
_MEANINGS = {
    "announcements": "announcements to the group",
    "answers": "announcements to one participant",
    "contacts": "heartbeats and acknowledgments between participants",
    "records": "records of endpoints",
    "matches": "heartbeats and acknowledgments between endpoints",
}
_ROW, _BAR, _LEFT, _RIGHT, _WIDTH = 30, 18, 110, 120, 760
#: Above this many participants the picture of who needs whom would be a gray square of many megabytes.
_LARGEST_PICTURE = 100

_STYLE = """
:root { color-scheme: light dark; --page: #fbfbfa; --card: #ffffff; --ink: #1c1c1a; --quiet: #5f5e59; --line: #e3e2dc;
  --announcements: #b07800; --answers: #17895f; --contacts: #d0542a; --records: #2a6fc9; --matches: #7657c4;
  --bar: #2a6fc9; --low: #dbe8f8; --high: #12447f; }
@media (prefers-color-scheme: dark) { :root { --page: #161615; --card: #1f1f1d; --ink: #f1f0ec; --quiet: #b0aea6;
  --line: #3a3a36; --announcements: #d19a1f; --answers: #2fa97c; --contacts: #e2703f; --records: #5b9be8;
  --matches: #a08be8; --bar: #5b9be8; --low: #20344d; --high: #9cc6f7; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 860px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; overflow-wrap: anywhere; } h2 { font-size: 19px; margin: 40px 0 8px; }
p { margin: 6px 0; } .quiet { color: var(--quiet); }
.verdict { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--bar);
  border-radius: 6px; padding: 14px 18px; margin: 20px 0; }
.figure { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 14px; overflow-x: auto; }
.figure + .figure { margin-top: 12px; } figure { margin: 0; } figcaption { font-size: 14px; margin-bottom: 8px; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); gap: 20px; }
svg { display: block; width: 100%; min-width: 560px; height: auto; } svg.picture { min-width: 0; max-width: 560px; }
svg text { font: 13px system-ui, sans-serif; fill: var(--ink); } svg .quiet { fill: var(--quiet); }
svg line { stroke: var(--line); }
.key { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 8px 0 12px; font-size: 14px; color: var(--quiet); }
.key i { display: inline-block; width: 12px; height: 12px; border-radius: 2px; margin-right: 6px; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: right; padding: 5px 10px; border-bottom: 1px solid var(--line); white-space: nowrap;
  font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; } th { color: var(--quiet); font-weight: 600; }
tr.best td { font-weight: 650; }
"""


def page(plan: DiscoveryPlan) -> str:
    """Return the whole page."""
    title = f"Discovery of {escape(plan.name)}"
    parts = [
        f"<h1>{title}</h1>",
        f'<p class="quiet">{plan.participants:,} participants, {plan.endpoints:,} endpoints, '
        f"{plan.topics:,} topics</p>",
        f'<div class="verdict"><p>{escape(plan.verdict.text)}</p>{_how(plan)}</div>',
        *(f'<p class="quiet">{escape(line)}.</p>' for line in plan.notes),
        "<h2>Bytes while the system starts</h2>",
        '<p class="quiet">Each figure has a scale of its own.</p>',
        _key(),
        *(_traffic_figure(view) for view in plan.views.values()),
        "<h2>What other stacks send for it</h2>",
        _stack_table(plan),
        "<h2>Bytes that a participant keeps of the others</h2>",
        _memory_figure(plan.views["unicast"]),
        *_pictures(plan),
        "<h2>All figures</h2>",
        *(_table(view, plan.verdict.protocol) for view in plan.views.values()),
        '<p class="quiet">Bytes are UDP payload. A false contact is an endpoint told to a participant that has no '
        "counterpart for it. The server is a model; everything else is built and encoded as it would be sent.</p>",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body><main>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def _how(plan: DiscoveryPlan) -> str:
    lines = "".join(f"<li>{escape(line)}</li>" for line in plan.verdict.apply)
    return f"<ul>{lines}</ul>" if lines else ""


def _stack_table(plan: DiscoveryPlan) -> str:
    rows = []
    for cost in plan.stacks.values():
        mark = ' class="best"' if cost.stack == plan.stack else ""
        cells = (escape(cost.stack.title), f"{cost.octets:,}", f"{cost.octets_per_minute:,}")
        rows.append(f"<tr{mark}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    head = "<th>stack</th><th>bytes</th><th>bytes a minute after</th>"
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _key() -> str:
    items = (f'<span><i style="background:var(--{name})"></i>{_MEANINGS[name]}</span>' for name in PARTS)
    return f'<div class="key">{"".join(items)}</div>'


def _traffic_figure(view: PlanView) -> str:
    largest = max(cost.octets for cost in view.costs.values()) or 1
    rows = []
    for name, cost in view.costs.items():
        x, pieces = float(_LEFT), []
        for part in PARTS:
            octets = getattr(cost.shares, part)
            width = octets / largest * (_WIDTH - _LEFT - _RIGHT)
            if width >= 0.1:
                tip = f"{name}: {in_words(octets)} of {_MEANINGS[part]}"
                # A gap of the background's color keeps neighbors apart without relying on color alone.
                pieces.append((x, max(width - 1, 0.6), f"var(--{part})", tip))
                x += width
        saved = view.saved_percent(name)
        label = in_words(cost.octets) + (f"  ({saved:.0f} % less)" if saved >= 0.5 else "")
        rows.append((name, pieces, x, label))
    return _bars(_TITLES[view.name], rows)


def _memory_figure(view: PlanView) -> str:
    largest = max(cost.memory_per_node for cost in view.costs.values()) or 1
    rows = []
    for name, cost in view.costs.items():
        width = cost.memory_per_node / largest * (_WIDTH - _LEFT - _RIGHT)
        tip = f"{name}: {cost.memory_per_node:,} B on average, {cost.largest_memory:,} B at most"
        rows.append(
            (name, [(float(_LEFT), max(width, 0.6), "var(--bar)", tip)], _LEFT + width, in_words(cost.memory_per_node))
        )
    return _bars("Announcements, summaries and records, on average", rows)


def _bars(title: str, rows: Iterable[tuple[str, list[tuple[float, float, str, str]], float, str]]) -> str:
    listed = list(rows)
    height = 30 + _ROW * len(listed)
    drawn = [f'<text x="0" y="14" class="quiet">{escape(title)}</text>']
    for number, (name, pieces, end, label) in enumerate(listed):
        y = 30 + _ROW * number
        drawn.append(f'<text x="{_LEFT - 10}" y="{y + 14}" text-anchor="end">{escape(name)}</text>')
        for x, width, color, tip in pieces:
            drawn.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" rx="1" fill="{color}">'
                f"<title>{escape(tip)}</title></rect>"
            )
        drawn.append(f'<text x="{end + 7:.1f}" y="{y + 14}">{escape(label)}</text>')
    drawn.append(f'<line x1="{_LEFT}" x2="{_LEFT}" y1="26" y2="{height - 8}"/>')
    return (
        f'<div class="figure"><svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"{''.join(drawn)}</svg></div>"
    )


def _pictures(plan: DiscoveryPlan) -> list[str]:
    topology = plan.topology
    if topology is None or not 2 <= plan.participants <= _LARGEST_PICTURE:
        return []
    gating, bare = plan.views["unicast"].gating, plan.views["unicast_without_infrastructure"].gating
    drawn = [_picture(topology, f"All topics: {gating.pairs_in_contact:,} of {gating.pairs:,} pairs")]
    if bare.records != gating.records:
        title = f"Without the topics of every ROS 2 node: {bare.pairs_in_contact:,} pairs"
        drawn.append(_picture(topology.without_infrastructure(), title))
    return [
        "<h2>Who needs to hear of whom</h2>",
        '<p class="quiet">Row tells column; a stronger color means that more records are needed, no color none.</p>',
        f'<div class="figure pictures">{"".join(drawn)}</div>',
    ]


def _picture(topology: Topology, title: str) -> str:
    participants = topology.participants
    count = len(participants)
    needed = TopologyInterests(topology).needed.records
    cell = max(4, min(16, 520 // count))
    largest = float(needed.max()) or 1.0
    drawn = [f'<rect width="{cell * count}" height="{cell * count}" fill="none" stroke="var(--line)"/>']
    for row, column in zip(*needed.nonzero(), strict=True):
        share = 15 + 85 * (float(needed[row, column]) / largest) ** 0.5
        tip = f"{participants[row].name} to {participants[column].name}: {int(needed[row, column])} records"
        drawn.append(
            f'<rect x="{cell * column}" y="{cell * row}" width="{cell - 1}" height="{cell - 1}" '
            f'style="fill:color-mix(in srgb, var(--high) {share:.0f}%, var(--low))">'
            f"<title>{escape(tip)}</title></rect>"
        )
    side = cell * count + 2
    return (
        f'<figure><figcaption class="quiet">{escape(title)}</figcaption>'
        f'<svg class="picture" viewBox="-1 -1 {side} {side}" role="img" aria-label="{escape(title)}">'
        f"{''.join(drawn)}</svg></figure>"
    )


def _table(view: PlanView, best: str) -> str:
    heads = (
        "protocol",
        "packets",
        "bytes",
        "saved",
        "bytes/minute",
        "memory/node",
        "seconds",
        "false contacts",
        "rate",
        "summary",
    )
    rows = []
    for name, cost in view.costs.items():
        cells = (
            name if name != "server" else "server (model)",
            f"{cost.packets:,}",
            f"{cost.octets:,}",
            f"{view.saved_percent(name):.1f} %",
            f"{cost.octets_per_minute:,}",
            f"{cost.memory_per_node:,}",
            f"{cost.seconds:.3f}",
            f"{cost.false_contacts:,}",
            f"{view.false_percent(name):.3f} %",
            f"{cost.summary_octets:.0f}" if cost.summary_octets else "",
        )
        mark = ' class="best"' if name == best else ""
        rows.append(f"<tr{mark}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    head = "".join(f"<th>{each}</th>" for each in heads)
    return (
        f'<p>{escape(_TITLES[view.name])}</p><div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
