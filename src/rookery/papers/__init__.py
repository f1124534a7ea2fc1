"""The claims ledger: every claim of the five seeds as an experiment that runs, with a figure and a verdict.

`claims.toml` lists what each seed says and what was found. `seed-000/deletion` is the entry `deletion` of the `CLAIMS`
of `seed_000`: data (sweeps, axes, figure) beside two short functions, one that makes the rows with the product's own
modules and no dice but the seed's, and one that judges them (`experiments.py`). Baselines, static models and what only
the print does are here as well; no other package imports this one but the command line.

`sweep.py` runs all of them as Spark tasks, `drawing.py` draws, `results.py` keeps what came out, `page.py` makes it one
page. How to read the page and how to add a claim: `docs/claims.md`.
"""

from __future__ import annotations

__all__: list[str] = []
