"""The claims ledger: every claim of the five seeds as an experiment that runs, with a figure and a verdict.

`claims.toml` lists the claims; `seed-000/deletion` is the module `seed_000/deletion.py`, at most 100 lines:

- `FULL` and `QUICK`, the parameters: a `Sweep` of configurations and how many seeds each runs with;
- `run(parameters, seed)` makes rows, with the product's own modules and no dice but the seed's;
- `plot(table)` draws them, `check(table)` judges them.

`sweep.py` runs all of them as Spark tasks, `results.py` keeps what came out, `page.py` makes it one page. How to read
the page and how to add a claim: `docs/claims.md`.
"""

from __future__ import annotations

__all__: list[str] = []
