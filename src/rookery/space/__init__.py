"""The event space: axes and codes, boxes of subscriptions, and the zones that share the load (seed 003).

Rule: an event is a point, a subscription is a box, a zone is a half-open box. A point lies in exactly one zone; a
box meets one or more. So a rule that is sent to every zone it meets, and an event that is sent to its one zone,
meet exactly once. Brokers and Spark place events by the same axes and cut by the same tree.
"""

from __future__ import annotations

from rookery.space.axes import Axis, EventSpace
from rookery.space.boxes import Boxes
from rookery.space.texts import TextCode
from rookery.space.tree import KdTree, ZoneLoad

__all__ = ["Axis", "Boxes", "EventSpace", "KdTree", "TextCode", "ZoneLoad"]
