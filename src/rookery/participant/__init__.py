"""One Rookery node, without I/O: the participant and what is built on it."""

from __future__ import annotations

from rookery.participant.configuration import ParticipantConfiguration, multicast_address, new_prefix
from rookery.participant.participant import Participant

__all__ = ["Participant", "ParticipantConfiguration", "multicast_address", "new_prefix"]
