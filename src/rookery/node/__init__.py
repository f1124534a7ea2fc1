"""One Rookery node, without I/O: the participant and what is built on it."""

from __future__ import annotations

from rookery.node.configuration import ParticipantConfiguration, multicast_address, new_prefix
from rookery.node.participant import Participant

__all__ = ["Participant", "ParticipantConfiguration", "multicast_address", "new_prefix"]
