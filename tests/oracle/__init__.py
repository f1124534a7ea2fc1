"""An oracle that shares nothing: DuckDB reads the raw Arrow columns and judges the raw conditions.

Rule: nothing here reads an event, a condition, a topic or a date by Rookery's own code. `kinds.py` and `columns.py`
make events, `conditions.py` writes each condition twice from the same random choices, once in the language and once
in DuckDB's SQL, `judge.py` lets DuckDB decide, and `compare.py` is the only module that imports Rookery.
"""
