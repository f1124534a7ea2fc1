"""Who is to hear of what, against the plain rule: an endpoint is told if the peer may have a counterpart."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rookery.discovery.directory import InterestDirectory
from rookery.discovery.hashes import HashList
from rookery.discovery.interests import interest_of_endpoint
from rookery.rtps import Guid
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.identity import READER_KEYLESS, WRITER_KEYLESS

US = b"us.........."
PEERS = [b"peer......1.", b"peer......2."]
TOPICS = ["a", "b", "rq/cRequest", "rr/cReply"]
PEER = st.sampled_from(PEERS)


def endpoint(prefix: bytes, number: int, topic: str, writes: bool) -> EndpointAnnouncement:
    kind = WRITER_KEYLESS if writes else READER_KEYLESS
    suffix = {"q": "_Request_", "r": "_Response_"}.get(topic[1:2], "")
    return EndpointAnnouncement(Guid(prefix, number << 8 | kind), topic, f"T{suffix}")


class TheDirectory(RuleBasedStateMachine):
    """The oracle remembers everything that was ever said and recomputes who is to hear of what."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = InterestDirectory()
        self.local: dict[Guid, EndpointAnnouncement] = {}
        self.remote: dict[Guid, EndpointAnnouncement] = {}
        self.told: dict[bytes, set[Guid]] = {peer: set() for peer in PEERS}
        self.summaries: dict[bytes, set[str]] = {}
        self.everything: set[bytes] = set()
        self.count = 0

    def may_have(self, peer: bytes, ours: EndpointAnnouncement) -> bool:
        sought = interest_of_endpoint(ours).sought
        known = {interest_of_endpoint(each).own for each in self.remote.values() if each.guid.prefix == peer}
        return peer in self.everything or sought in known or sought in self.summaries.get(peer, set())

    def expect(self, peer: bytes, returned: list[Guid]) -> None:
        fresh = {guid for guid, ours in self.local.items() if self.may_have(peer, ours)} - self.told[peer]
        assert set(returned) == fresh
        assert len(returned) == len(fresh)
        self.told[peer] |= fresh

    @rule(topic=st.sampled_from(TOPICS), writes=st.booleans())
    def create(self, topic: str, writes: bool) -> None:
        self.count += 1
        ours = endpoint(US, self.count, topic, writes)
        self.local[ours.guid] = ours
        reached = set(self.directory.add_local(ours))
        expected = {peer for peer in PEERS if self.may_have(peer, ours)}
        assert reached == expected
        for peer in expected:
            self.told[peer].add(ours.guid)

    @rule(which=st.integers(0, 100))
    def delete(self, which: int) -> None:
        if self.local:
            guid = list(self.local)[which % len(self.local)]
            key = interest_of_endpoint(self.local.pop(guid)).own
            last = key not in {interest_of_endpoint(each).own for each in self.local.values()}
            assert self.directory.remove_local(guid) == (key if last else None)
            for told in self.told.values():
                told.discard(guid)

    @rule(peer=PEER, topics=st.sets(st.tuples(st.sampled_from(TOPICS), st.booleans())))
    def summarize(self, peer: bytes, topics: set[tuple[str, bool]]) -> None:
        keys = {interest_of_endpoint(endpoint(peer, 1, topic, writes)).own for topic, writes in topics}
        self.summaries[peer] = keys
        self.expect(peer, self.directory.set_summary(peer, HashList.of(sorted(keys)), octets=16 + 4 * len(keys)))

    @rule(peer=PEER, topic=st.sampled_from(TOPICS), writes=st.booleans())
    def hear_of(self, peer: bytes, topic: str, writes: bool) -> None:
        self.count += 1
        theirs = endpoint(peer, self.count, topic, writes)
        self.remote[theirs.guid] = theirs
        self.expect(peer, self.directory.add_remote(theirs))

    @rule(which=st.integers(0, 100))
    def hear_no_more_of(self, which: int) -> None:
        if self.remote:
            theirs = self.remote.pop(list(self.remote)[which % len(self.remote)])
            self.directory.remove_remote(theirs)

    @rule(peer=PEER)
    def observe(self, peer: bytes) -> None:
        self.everything.add(peer)
        self.expect(peer, self.directory.set_everything(peer))

    @rule(peer=PEER)
    def drop(self, peer: bytes) -> None:
        self.summaries.pop(peer, None)
        self.directory.drop_summary(peer)

    @rule(peer=PEER)
    def forget(self, peer: bytes) -> None:
        self.directory.forget(peer)
        self.told[peer] = set()
        self.summaries.pop(peer, None)
        self.everything.discard(peer)
        self.remote = {guid: each for guid, each in self.remote.items() if guid.prefix != peer}

    @invariant()
    def tells_the_same(self) -> None:
        for peer in PEERS:
            assert {guid for guid in self.local if self.directory.wants(peer, guid)} == self.told[peer]
        assert set(self.directory.local) == set(self.local)
        assert self.directory.octets == sum(16 + 4 * len(keys) for keys in self.summaries.values())


TheDirectory.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestDirectory = TheDirectory.TestCase
