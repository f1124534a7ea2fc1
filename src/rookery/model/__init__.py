"""The model: schemas, events, and the language of subscriptions: parse, type, evaluate, lower to boxes, compare."""

from __future__ import annotations

from rookery.model.expressions import Expression, to_text
from rookery.model.parser import parse
from rookery.model.relations import covers, merge
from rookery.model.schema import Attribute, Schema

__all__ = ["Attribute", "Expression", "Schema", "covers", "merge", "parse", "to_text"]
