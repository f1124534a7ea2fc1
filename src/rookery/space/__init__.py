"""The event space: boxes around subscriptions, and the K-D tree of zones that share the load (seed 003).

Rule: an event is a point, a subscription is a box, a zone is a half-open box. A point lies in exactly one zone; a
box meets one or more. So a rule that is sent to every zone it meets, and an event that is sent to its one zone,
meet exactly once.
"""

from __future__ import annotations

from rookery.space.boxes import Box, Boxes
from rookery.space.tree import KdTree, ZoneLoad

__all__ = ["Box", "Boxes", "KdTree", "ZoneLoad"]
