"""The page's own files, and the saved page: one file that holds the page, its style, its script and a snapshot.

The scripts are plain files that are read in one order and served as one; there is no build. A saved page runs from
disk: its style and script are inline, allowed by their hashes and nothing else, and it asks nobody for anything.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

__all__ = ["SCRIPTS", "page", "saved_page", "script", "style"]

#: In this order: each uses only what stands before it.
SCRIPTS = (
    "elements.js",
    "run.js",
    "drawing.js",
    "lists.js",
    "network.js",
    "space.js",
    "match.js",
    "spark.js",
    "ledger.js",
    "page.js",
)
_STYLE_LINK = '<link rel="stylesheet" href="page.css">'
_SCRIPT_LINK = '<script src="page.js" defer></script>'


@cache
def _text(name: str) -> str:
    return files("rookery.web").joinpath("static", name).read_text(encoding="utf-8")


def page() -> str:
    """Return the page as it is served."""
    return _text("page.html")


def style() -> str:
    """Return the style."""
    return _text("page.css")


@cache
def script() -> str:
    """Return the script."""
    return '"use strict";\n(() => {\n' + "\n".join(_text(name) for name in SCRIPTS) + "\n})();\n"


def saved_page(snapshot: bytes) -> str:
    """Return a self-contained page that shows a snapshot."""
    policy = f"default-src 'none'; img-src data:; style-src {_hash(style())}; script-src {_hash(script())}"
    # A closing tag inside the data would end its block.
    data = snapshot.decode("utf-8").replace("<", "\\u003c")
    return (
        page()
        .replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{policy}">', 1)
        .replace(_STYLE_LINK, f"<style>{style()}</style>", 1)
        .replace(
            _SCRIPT_LINK,
            "",
            1,
        )
        .replace(
            "</body>",
            f'<script type="application/json" id="snapshot">{data}</script>\n<script>{script()}</script>\n</body>',
            1,
        )
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
