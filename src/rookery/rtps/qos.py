"""Quality of service: what an endpoint offers or asks for, and when an offer meets a request.

Writer and reader of one topic talk only if every policy that both sides must agree on fits ("request versus offered",
DDS 1.4, 2.2.3). Policies with an order fit when the offer is at least the request; ownership and the data
representation must agree; partitions must meet. All of them are read from peers and compared, because a peer that
asks for something unknown to us must not be matched in silence. Locally an endpoint can ask only for what is really
done here: reliability, durability volatile or transient-local, history, deadline, liveliness, ownership, destination
order, latency budget (nothing is held back for it), lifespan, time-based filter, partitions, user data, type
consistency, XCDR1 or XCDR2. Anything else raises.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from fnmatch import fnmatchcase
from typing import Final

from rookery.errors import UnsupportedPolicyError

__all__ = [
    "INFINITE",
    "STANDARD_CONSISTENCY",
    "USER_DATA_BYTES",
    "XCDR1",
    "XCDR2",
    "DestinationOrder",
    "Durability",
    "Liveliness",
    "Ownership",
    "Presentation",
    "QualityOfService",
    "Reliability",
    "TypeConsistency",
    "incompatible_policies",
    "require_supported",
]

#: A duration without end, in microseconds: the largest that the wire can say.
INFINITE = 0x7FFFFFFF * 1_000_000
XCDR1 = 0
XCDR2 = 2
#: Shorter leases would be signs of life and nothing else.
SHORTEST_LIVELINESS = 1_000
#: User data that are sent, and kept of others.
USER_DATA_BYTES = 1_024


class Reliability(IntEnum):
    """Whether lost samples are sent again."""

    BEST_EFFORT = 1
    RELIABLE = 2


class Durability(IntEnum):
    """What a late reader gets of what was written before."""

    VOLATILE = 0
    TRANSIENT_LOCAL = 1
    TRANSIENT = 2
    PERSISTENT = 3


class Liveliness(IntEnum):
    """Who says that a writer is alive."""

    AUTOMATIC = 0
    MANUAL_BY_PARTICIPANT = 1
    MANUAL_BY_TOPIC = 2


class Ownership(IntEnum):
    """Whether one writer at a time owns an instance."""

    SHARED = 0
    EXCLUSIVE = 1


class DestinationOrder(IntEnum):
    """By which time samples of several writers are ordered."""

    BY_RECEPTION = 0
    BY_SOURCE = 1


class Presentation(IntEnum):
    """How wide the scope of coherent or ordered access is."""

    INSTANCE = 0
    TOPIC = 1
    GROUP = 2


@dataclass(frozen=True, slots=True)
class TypeConsistency:
    """How unlike a reader's type and a writer's may be (DDS-XTypes 7.6.3.4); the defaults are the standard's."""

    #: Whether they may be unlike at all.
    coercion: bool = True
    #: Whether a longer sequence or string than the reader's type has room for may come.
    ignores_sequence_bounds: bool = True
    ignores_string_bounds: bool = True
    #: Whether members are known by their ids alone.
    ignores_member_names: bool = False
    #: Whether each has to have the members of the other, but for optional ones of the writer.
    prevents_widening: bool = False
    #: Whether both have to announce their types: names are not enough.
    forces_validation: bool = False


#: What a reader asks for that says nothing of it.
STANDARD_CONSISTENCY: Final = TypeConsistency()


@dataclass(frozen=True, slots=True)
class QualityOfService:
    """The policies of one endpoint; the defaults are those of DDS, except that readers here also begin as best effort.

    `history_depth` None keeps all. Durations are microseconds.
    """

    reliability: Reliability = Reliability.BEST_EFFORT
    durability: Durability = Durability.VOLATILE
    history_depth: int | None = 1
    deadline: int = INFINITE
    partitions: tuple[str, ...] = ()
    ownership: Ownership = Ownership.SHARED
    liveliness: Liveliness = Liveliness.AUTOMATIC
    liveliness_lease: int = INFINITE
    latency_budget: int = 0
    destination_order: DestinationOrder = DestinationOrder.BY_RECEPTION
    presentation: Presentation = Presentation.INSTANCE
    coherent_access: bool = False
    ordered_access: bool = False
    representations: tuple[int, ...] = (XCDR1,)
    #: How long a sample is worth sending, and how far apart the samples of an instance are for a reader.
    lifespan: int = INFINITE
    minimum_separation: int = 0
    #: What the owner says of the endpoint, for others to see.
    user_data: bytes = b""
    #: Of writers with exclusive ownership: the strongest has an instance.
    ownership_strength: int = 0
    #: Of readers: how unlike their own the types of writers may be.
    type_consistency: TypeConsistency = STANDARD_CONSISTENCY

    @property
    def reliable(self) -> bool:
        """Whether lost samples are sent again."""
        return self.reliability is Reliability.RELIABLE


#: What a local endpoint may choose; everything else stays at its default.
_SUPPORTED = frozenset(
    {
        "reliability",
        "durability",
        "history_depth",
        "deadline",
        "partitions",
        "representations",
        "lifespan",
        "minimum_separation",
        "user_data",
        "liveliness",
        "liveliness_lease",
        "ownership",
        "ownership_strength",
        "type_consistency",
        "destination_order",
        "latency_budget",
    }
)


def require_supported(qos: QualityOfService) -> None:
    """Raise unless everything that `qos` asks for is done here."""
    plain = QualityOfService()
    for field in fields(qos):
        if field.name not in _SUPPORTED and getattr(qos, field.name) != getattr(plain, field.name):
            asked = f"{field.name}={getattr(qos, field.name)!r}"
            raise UnsupportedPolicyError(f"{asked} is not supported; choose among {', '.join(sorted(_SUPPORTED))}")
    if qos.durability > Durability.TRANSIENT_LOCAL:
        raise UnsupportedPolicyError(
            f"durability {qos.durability.name} is not supported; use TRANSIENT_LOCAL or VOLATILE"
        )
    if qos.durability is Durability.TRANSIENT_LOCAL and not qos.reliable:
        raise UnsupportedPolicyError("TRANSIENT_LOCAL without RELIABLE is not supported; ask for both")
    if qos.history_depth is not None and qos.history_depth < 1:
        raise UnsupportedPolicyError(f"a history of {qos.history_depth}; keep at least the last 1, or None for all")
    if not qos.representations or not set(qos.representations) <= {XCDR1, XCDR2}:
        raise UnsupportedPolicyError(f"data representations {qos.representations}; give XCDR1 (0), XCDR2 (2), or both")
    if qos.deadline < 1 or qos.lifespan < 1:
        given = min(qos.deadline, qos.lifespan)
        raise UnsupportedPolicyError(f"a deadline or lifespan of {given} microseconds; give at least 1")
    if qos.liveliness_lease < SHORTEST_LIVELINESS:
        raise UnsupportedPolicyError(
            f"a liveliness lease of {qos.liveliness_lease} microseconds; give at least {SHORTEST_LIVELINESS}"
        )
    if qos.latency_budget < 0:
        raise UnsupportedPolicyError(f"a latency budget of {qos.latency_budget} microseconds; give no less than 0")
    if qos.ownership_strength and qos.ownership is Ownership.SHARED:
        raise UnsupportedPolicyError("a strength without exclusive ownership; ask for both")
    if not -(1 << 31) <= qos.ownership_strength < 1 << 31:
        raise UnsupportedPolicyError(f"an ownership strength of {qos.ownership_strength}; give a number of 32 bits")
    if not 0 <= qos.minimum_separation <= qos.deadline:
        raise UnsupportedPolicyError(
            f"samples {qos.minimum_separation} microseconds apart; give no less than 0 and no more than the deadline"
        )
    if len(qos.user_data) > USER_DATA_BYTES:
        raise UnsupportedPolicyError(f"user data of {len(qos.user_data)} bytes; give at most {USER_DATA_BYTES}")


def incompatible_policies(*, offered: QualityOfService, requested: QualityOfService) -> tuple[str, ...]:
    """Return the names of the policies that keep a writer and a reader apart; none means that they match."""
    faults = []
    if offered.reliability < requested.reliability:
        faults.append("reliability")
    if offered.durability < requested.durability:
        faults.append("durability")
    if offered.deadline > requested.deadline:
        faults.append("deadline")
    if offered.ownership != requested.ownership:
        faults.append("ownership")
    if offered.liveliness < requested.liveliness or offered.liveliness_lease > requested.liveliness_lease:
        faults.append("liveliness")
    if offered.latency_budget > requested.latency_budget:
        faults.append("latency_budget")
    if offered.destination_order < requested.destination_order:
        faults.append("destination_order")
    if (
        offered.presentation < requested.presentation
        or (requested.coherent_access and not offered.coherent_access)
        or (requested.ordered_access and not offered.ordered_access)
    ):
        faults.append("presentation")
    # A writer uses the first representation of its list (DDS-XTypes 7.6.3.1.2).
    if offered.representations[0] not in requested.representations:
        faults.append("data_representation")
    if not _partitions_meet(offered.partitions or ("",), requested.partitions or ("",)):
        faults.append("partition")
    return tuple(faults)


def _partitions_meet(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Say whether two lists share a name; one side of a pair may be a POSIX pattern, not both (DDS 1.4, 2.2.3.13)."""
    for one in left:
        for other in right:
            if one == other:
                return True
            patterns = [any(sign in name for sign in "*?[") for name in (one, other)]
            if patterns == [True, False] and fnmatchcase(other, one):
                return True
            if patterns == [False, True] and fnmatchcase(one, other):
                return True
    return False
