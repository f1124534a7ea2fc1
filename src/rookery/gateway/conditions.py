"""The conditions that other sites state for one topic, in one compiled set: who of them wants a sample?

A site wants every sample of a channel, or those that satisfy one of its WHERE clauses. All clauses of all sites, over
all channels of the topic, are subscriptions of one matcher; a clause that many sites state is in it once.

Rule 1: a sample is decoded once and matched once for each schema. A schema says how the bytes are read, so sites that
state different schemas for one type cannot share a set; as a rule there is one.
Rule 2: in doubt the sample travels, and the readers at the other end decide: where a site's schema or clause is not
understood, where the sample cannot be read by the site's schema, and where it is no event but the end of an instance.
"""

from __future__ import annotations

from collections.abc import Iterable

from rookery.errors import RookeryError
from rookery.gateway.messages import Forwarded, Want
from rookery.matching import matcher
from rookery.participant.event_types import EventType, event_type
from rookery.rtps.events import SampleKind

__all__ = ["TopicConditions"]


class TopicConditions:
    """The conditions of all sites for the channels of one topic and type."""

    def __init__(self, type_name: str) -> None:
        self._type_name = type_name
        self._by_schema: dict[str, _SchemaConditions] = {}
        #: Under which schema the clauses of a site for a channel are; who is not here wants every sample.
        self._schemas: dict[tuple[int, str], str] = {}

    def __len__(self) -> int:
        """Count the sites with conditions, for each channel of theirs."""
        return len(self._schemas)

    def state(self, site: str, want: Want) -> str:
        """Put what a site wants of a channel in the place of what it wanted before; return what is wrong with it."""
        self.withdraw(site, want.channel)
        if not want.conditions:
            return ""
        key = repr(want.schema)  # in the order of its attributes, which is that of the bytes
        try:
            conditions = self._by_schema.get(key)
            if conditions is None:
                conditions = _SchemaConditions(event_type(want.schema, type_name=self._type_name))
            conditions.add(want.channel, site, want.conditions)
        except RookeryError as error:
            return str(error)
        self._by_schema[key] = conditions
        self._schemas[want.channel, site] = key
        return ""

    def withdraw(self, site: str, channel: int) -> None:
        """Forget what a site stated for a channel."""
        key = self._schemas.pop((channel, site), None)
        if key is not None:
            self._by_schema[key].remove(channel, site)
            if not self._by_schema[key].sites:
                del self._by_schema[key]

    def wanting(self, sites: Iterable[str], sample: Forwarded) -> list[str]:
        """Return those of the sites that want a sample, in their order."""
        if not self._schemas or sample.kind != SampleKind.ALIVE:
            return list(sites)
        channel = sample.channel
        spared: set[str] = set()
        for conditions in self._by_schema.values():
            stated = conditions.sites.get(channel)
            if stated:
                spared |= stated.keys() - conditions.wanting(channel, sample.payload)
        return [site for site in sites if site not in spared]


class _SchemaConditions:
    """The conditions that are about one schema."""

    def __init__(self, type: EventType) -> None:
        self._type = type
        self._matcher = matcher(type.schema, wall_time=False)
        self._numbers: dict[str, str | int] = {}
        self._count = 0
        #: Who stated a clause, by its number and by channel.
        self._stated_by: dict[str | int, dict[int, set[str]]] = {}
        #: The clauses of each site, by channel.
        self.sites: dict[int, dict[str, list[str]]] = {}

    def add(self, channel: int, site: str, clauses: list[str]) -> None:
        """Add the clauses of a site; raise, and add none of them, where one cannot be compiled."""
        self.sites.setdefault(channel, {})[site] = clauses
        try:
            for where in clauses:
                if where not in self._numbers:
                    self._matcher.add(self._count, where)
                    self._numbers[where] = self._count
                    self._count += 1
                self._stated_by.setdefault(self._numbers[where], {}).setdefault(channel, set()).add(site)
        except RookeryError:
            self.remove(channel, site)
            raise

    def remove(self, channel: int, site: str) -> None:
        """Remove the clauses of a site, and from the matcher those that nobody else states."""
        for where in self.sites[channel].pop(site):
            number = self._numbers.get(where)
            channels = {} if number is None else self._stated_by[number]
            channels.get(channel, set()).discard(site)
            if number is not None and not any(channels.values()):
                self._matcher.remove(number)
                del self._numbers[where], self._stated_by[number]
        if not self.sites[channel]:
            del self.sites[channel]

    def wanting(self, channel: int, payload: bytes) -> set[str]:
        """Return the sites with clauses for a channel that want an event of it."""
        try:
            found = self._matcher.match(self._type.decode(payload))
        except RookeryError:
            return set(self.sites[channel])
        wanting: set[str] = set()
        for number in found:
            wanting.update(self._stated_by[number].get(channel, ()))
        return wanting
