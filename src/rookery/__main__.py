"""`python -m rookery` is the `rookery` command."""

from __future__ import annotations

from rookery.cli import main

__all__: list[str] = []

main()
