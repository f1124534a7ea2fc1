"""The dynamic Bloom counting tree (DBCT) of seed 000: `BloomTree`."""

from __future__ import annotations

from rookery.filters.tree.filter import BloomTree
from rookery.filters.tree.geometry import SubNode
from rookery.filters.tree.query import QueryResult

__all__ = ["BloomTree", "QueryResult", "SubNode"]
