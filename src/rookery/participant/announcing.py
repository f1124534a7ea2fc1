"""What a participant says of itself: its announcement, with the summary that its discovery protocol makes.

The epoch of the summary is the sequence number of the announcement that carries it. Changes are gathered for a moment,
since endpoints come in groups, and go out once, with quick repetitions against loss; a long summary is not repeated
after that, a reference to it is. What a structure leaves to be done later (the cuckoo filter moves its fingerprints to
a larger table step by step) is done with every announcement of something new, and with the repetition at the period,
which becomes an announcement of its own while anything is left to do. So it does where so many participants have come
that the summary is to be told more exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rookery.discovery.carriage import Seal, observer_container, summary_parameter
from rookery.discovery.protocols import rate_among, summary_of
from rookery.participant.configuration import ParticipantConfiguration
from rookery.participant.retrieval import Retrieval
from rookery.rtps.context import ParticipantContext
from rookery.rtps.parameters import Parameter
from rookery.rtps.spdp import ParticipantDiscovery

if TYPE_CHECKING:
    from rookery.filters import DomainKey

__all__ = ["Announcing", "announcement_seal", "domain_key"]

#: How long a change waits for the next before it is announced, and how soon it may follow another.
GATHERING = 20_000
SPACING = 100_000
#: RTPS header, INFO_TS, head of DATA, and what a parameter costs: what an announcement needs besides its payload.
_FRAMING = 20 + 12 + 24 + 8
#: A summary of more bytes is not repeated at the slow period: to be asked for it now and then is cheaper.
_REPEATED = 192


class Announcing:
    """Announces one participant."""

    def __init__(
        self,
        context: ParticipantContext,
        configuration: ParticipantConfiguration,
        *,
        domain_key: DomainKey | None,
        spdp: ParticipantDiscovery,
        retrieval: Retrieval,
    ) -> None:
        self._deadlines = context.deadlines
        self._peers = context.peers
        self._configuration = configuration
        self._keyed = domain_key is not None
        self._summary = summary_of(configuration.discovery, domain_key=domain_key)
        self._spdp = spdp
        self._retrieval = retrieval
        self._vendor_parameters = configuration.vendor_parameters
        self._last = -SPACING
        #: The rate of the summary that is announced.
        self._rate = rate_among(1)
        self._started = False

    @property
    def has_summary(self) -> bool:
        """Whether the protocol has one; else everything is announced to everyone."""
        return self._summary is not None

    def start(self, now: int) -> None:
        """Announce this participant; with a summary, after the endpoints that are made in the same breath."""
        if self._summary is None:
            self._begin(now)
        else:
            self._deadlines.arm(("summary",), now + GATHERING, self._begin)

    def say(self, now: int, vendor_parameters: tuple[Parameter, ...]) -> None:
        """Change what the owner wants to be said besides the summary, and say it."""
        self._vendor_parameters = vendor_parameters
        self._set(now)
        self._spdp.announce(now)

    def add(self, key: str, now: int) -> None:
        """Take a key into the summary and announce it before long."""
        if self._summary is not None:
            self._summary.add(key)
            self._change(now)

    def remove(self, key: str, now: int) -> None:
        """Take a key out of the summary and announce that before long."""
        if self._summary is not None:
            self._summary.remove(key)
            self._change(now)

    def _begin(self, now: int) -> None:
        self._started, self._last = True, now
        self._set(now)
        self._spdp.start(now, renew=self._renew)

    def _change(self, now: int) -> None:
        if self._started:
            self._deadlines.arm_sooner(("summary",), max(now + GATHERING, self._last + SPACING), self._refresh)

    def _refresh(self, now: int) -> None:
        self._last = now
        self._set(now)
        self._spdp.announce(now)

    def _renew(self, now: int) -> bool:
        """Do what is left over before the announcement is repeated; say whether there is a new one instead."""
        if self._summary is None or self._configuration.observer:
            return False
        if not self._summary.settle() and rate_among(len(self._peers) + 1) >= self._rate:
            return False
        self._last = now
        self._set(now, settled=True)
        return True

    def _set(self, now: int, *, settled: bool = False) -> None:
        """Put the summary into the announcement, or a reference to it: for good, or where it is only repeated."""
        epoch, others = self._spdp.next_sequence & 0xFFFFFFFF, self._vendor_parameters
        if self._configuration.observer:
            container = observer_container(epoch=epoch, keyed=self._keyed)
        elif self._summary is not None:
            if not settled:
                self._summary.settle()
            room = self._room()
            self._rate = rate_among(len(self._peers) + 1)
            container = self._summary.encode(epoch=epoch, room=room, rate=self._rate)
            if len(container) > _REPEATED:
                reference = (*others, summary_parameter(self._retrieval.publish(container, now).encode()))
                whole = (*others, summary_parameter(container)) if len(container) <= room else reference
                self._spdp.set(vendor_parameters=whole, repeated_parameters=reference)
                return
        else:
            self._spdp.set(vendor_parameters=others)
            return
        self._spdp.set(vendor_parameters=(*others, summary_parameter(container)))

    def _room(self) -> int:
        """Return how many bytes of summary fit into a datagram with everything else that is announced."""
        announced = sum(8 + len(parameter.value) for parameter in self._vendor_parameters)
        return self._configuration.datagram_bytes - len(self._spdp.bare_payload) - announced - _FRAMING


def domain_key(configuration: ParticipantConfiguration) -> DomainKey | None:
    """Return what keys are hashed with, if there is a pre-shared key."""
    if configuration.pre_shared_key is None:
        return None
    from rookery.filters import DomainKey

    return DomainKey.derive(configuration.pre_shared_key, domain=configuration.domain_id)


def announcement_seal(configuration: ParticipantConfiguration) -> Seal | None:
    """Return the seal of a participant's announcements, if it has a key."""
    if configuration.pre_shared_key is None:
        return None
    return Seal.derive(configuration.pre_shared_key, domain_id=configuration.domain_id)
