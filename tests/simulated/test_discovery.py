"""Every discovery protocol in a bad network: at quiescence exactly those are paired that a plain comparison pairs.

A world is made from a seed: participants, endpoints with topics, types and quality of service drawn from a few,
services, endpoints that come late and go again, participants that leave, crash, come back or come late, and links that
are cut in one direction or both. The network loses 20 %, duplicates 20 % and reorders. The oracle compares every writer
with every reader. A failing seed prints the command that replays it; `--slow` runs 10,000 seeds. In a *crowded* world
participants have up to 48 endpoints, so that cuckoo filters double, and the doublings are counted from the bytes sent.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from random import Random

import pytest

from rookery.discovery import PROTOCOLS
from rookery.papers.announced import ListeningNetwork, read, write
from rookery.rtps import Durability, Guid, QualityOfService, Reliability
from rookery.rtps.events import MessageRejected, ParticipantLost, TreeSearched
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant, conditions_between

BAD = conditions_between(100, 30_000, loss=0.2, duplication=0.2)
SECOND = 1_000_000
MANY_SEEDS = 700
TOPICS = [(f"rt/topic{number}", f"Type{number % 3}") for number in range(12)]
FEW, CROWD = 7, 48
CROWDED_TOPICS = [(f"rt/topic{number}", f"Type{number % 3}") for number in range(60)]
CROWDED_SEEDS = 8
SERVICES = [(f"srv{number}", f"pkg::srv::dds_::Do{number}") for number in range(3)]
QUALITIES = [
    QualityOfService(reliability=reliability, durability=durability, deadline=deadline)
    for reliability, durability in (
        (Reliability.BEST_EFFORT, Durability.VOLATILE),
        (Reliability.RELIABLE, Durability.VOLATILE),
        (Reliability.RELIABLE, Durability.TRANSIENT_LOCAL),
    )
    for deadline in (1_000_000, 3_000_000)
]


@dataclass(frozen=True)
class Wanted:
    """An endpoint as the oracle knows it."""

    guid: Guid
    writes: bool
    topic: str
    type_name: str
    qos: QualityOfService


def are_pair(writer: Wanted, reader: Wanted) -> bool:
    """Compare a writer with a reader, plainly."""
    if (writer.topic, writer.type_name) != (reader.topic, reader.type_name):
        return False
    if reader.qos.reliability is Reliability.RELIABLE and writer.qos.reliability is Reliability.BEST_EFFORT:
        return False
    if reader.qos.durability is Durability.TRANSIENT_LOCAL and writer.qos.durability is Durability.VOLATILE:
        return False
    return writer.qos.deadline <= reader.qos.deadline


@dataclass
class World:
    """Participants in a bad network, and what they have."""

    seed: int
    protocols: list[str]
    members: list[SimulatedParticipant] = field(default_factory=list)
    endpoints: dict[Guid, tuple[SimulatedParticipant, Wanted]] = field(default_factory=dict)
    partitioned: bool = False
    most: int = FEW

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.network = ListeningNetwork(self.seed, BAD)
        self.topics = TOPICS if self.most == FEW else CROWDED_TOPICS

    def options(self) -> dict[str, object]:
        protocol = self.random.choice(self.protocols)
        lease = self.random.choice((40, 80)) * SECOND  # a dozen announcements: all lost is no accident
        return {"lease": lease, "period": 3 * SECOND, "discovery": protocol}

    def join(self) -> None:
        self.populate(self.network.join(**self.options()))

    def populate(self, member: SimulatedParticipant) -> None:
        self.members.append(member)
        for _ in range(self.random.randrange(1, 1 + self.most)):
            self.create(member)

    def create(self, member: SimulatedParticipant) -> None:
        qos = self.random.choice(QUALITIES)
        if self.random.random() < 0.2:
            name, type_name = self.random.choice(SERVICES)
            is_server = self.random.random() < 0.5
            self.add(member, not is_server, f"rq/{name}Request", f"{type_name}_Request_", QUALITIES[-1])
            self.add(member, is_server, f"rr/{name}Reply", f"{type_name}_Response_", QUALITIES[-1])
        else:
            topic, type_name = self.random.choice(self.topics)
            self.add(member, self.random.random() < 0.5, topic, type_name, qos)

    def add(self, owner: SimulatedParticipant, writes: bool, topic: str, type_name: str, qos: QualityOfService) -> None:
        participant = owner.participant
        make = participant.create_writer if writes else participant.create_reader
        guid = make(topic, type_name, qos, keyed=False, now=owner.now)
        self.endpoints[guid] = (owner, Wanted(guid, writes, topic, type_name, qos))
        owner.flush()

    def change(self) -> None:
        """Do one thing that happens in the life of a domain."""
        alive = [member for member in self.members if not member.crashed]
        member, what = self.random.choice(alive), self.random.random()
        own = [guid for guid, (owner, _) in self.endpoints.items() if owner is member]
        if what < 0.4 and own:
            guid = self.random.choice(own)
            del self.endpoints[guid]
            member.participant.delete_endpoint(guid, member.now)
            member.flush()
        elif what < 0.5 and len(alive) > 2:
            member.leave() if self.random.random() < 0.5 else member.crash()
            for guid in own:
                del self.endpoints[guid]
            if self.random.random() < 0.5:  # and somebody new is at its address, before or after the lease has ended
                self.network.run(self.random.randrange(self.random.choice((SECOND, 120 * SECOND))))
                self.populate(self.network.restart(member, **self.options()))
        elif what < 0.6:
            self.join()
        elif what < 0.7:
            # Leases differ, so often only one side notices; and where one does not hear, only that one can.
            other = self.random.choice(alive)
            if self.random.random() < 0.5 or other is member:
                self.network.partition([member])
            else:
                self.network.cut(member, other, both_ways=self.random.random() < 0.5)
            self.network.run(self.random.randrange(120 * SECOND))
            self.network.heal()
            self.network.mend(member, other)
            self.partitioned = True
        else:
            for _ in range(1 if self.most == FEW else self.random.randrange(1, 12)):
                self.create(member)

    def expected(self) -> set[tuple[Guid, Guid]]:
        everyone = [wanted for _, wanted in self.endpoints.values()]
        pairs = set()
        for writer in everyone:
            for reader in everyone:
                if writer.writes and not reader.writes and are_pair(writer, reader):
                    pairs |= {(writer.guid, reader.guid), (reader.guid, writer.guid)}
        return pairs

    def found(self) -> set[tuple[Guid, Guid]]:
        return {
            (guid, other) for guid, (member, _) in self.endpoints.items() for other in member.participant.matched(guid)
        }


def live(seed: int, protocol: str, *, most: int = FEW, changes: int = 12) -> World:
    """Live through a world and compare."""
    replay = (
        f"replay: ROOKERY_SEED={seed} ROOKERY_PROTOCOL={protocol} pytest tests/simulated/test_discovery.py -k replay"
    )
    world = World(seed, list(PROTOCOLS) if protocol == "mixed" else [protocol], most=most)
    for _ in range(world.random.randrange(2, 5)):
        world.join()
    for _ in range(world.random.randrange(changes)):
        world.network.run(world.random.randrange(2 * SECOND))
        world.change()
    expected = world.expected()
    assert world.network.run(300 * SECOND, until=lambda: world.found() == expected), (
        f"missing {expected - world.found()}, too many {world.found() - expected}; {replay}"
    )
    world.network.run(20 * SECOND)
    assert world.found() == expected, f"matched and then not any more; {replay}"
    for member in world.members:
        if not member.crashed:
            rejected = [event for event in member.events if isinstance(event, MessageRejected)]
            assert not rejected, f"{rejected}; {replay}"
            expired = [e for e in member.events if isinstance(e, ParticipantLost) and e.reason != "disposed"]
            crashed = sum(other.crashed for other in world.members)
            assert len(expired) <= crashed or world.partitioned, f"{expired}; {replay}"
    return world


def check(seed: int, protocol: str) -> str:
    """Live through a world and compare; return what was sent, as a digest."""
    return live(seed, protocol).network.digest


def check_crowded(seed: int, protocol: str) -> dict[str, int]:
    """Live through a crowded world of cuckoo filters until every transfer has ended; count what its octets show."""
    world = live(seed, protocol, most=CROWD, changes=40)
    network, alive = world.network, [member for member in world.members if not member.crashed]

    def ended() -> bool:
        return all(network.of(member)[-1].container[2] == 1 for member in alive)

    assert network.run(900 * SECOND, until=ended), f"a transfer does not end: seed {seed}, {protocol}"
    assert world.found() == world.expected()
    counted = dict.fromkeys(("worlds", "announcements", "doublings", "halvings", "both", "transfers", "octets"), 0)
    counted["worlds"] = 1
    for member in world.members:
        length, moving = -1, False  # what a filter did before its first announcement crossed no network
        for one in network.of(member):
            both, now = (
                one.container[2] == 2,
                one.container[12],
            )  # the count of filters, and log2 of the newer's buckets
            counted["announcements"] += 1
            counted["octets"] += len(one.container)
            counted["doublings"] += max(0, now - length) if length > 0 else 0
            counted["halvings"] += max(0, length - now)
            counted["both"] += both
            counted["transfers"] += moving and not both
            length, moving = now, both
    return counted


def crowded(seeds: range, protocol: str) -> dict[str, int]:
    totals: dict[str, int] = {}
    for seed in seeds:
        for name, count in check_crowded(seed, protocol).items():
            totals[name] = totals.get(name, 0) + count
    return totals


@pytest.mark.parametrize("protocol", [*PROTOCOLS, "mixed"])
def test_exactly_those_are_paired_that_should_be(protocol: str) -> None:
    for seed in range(MANY_SEEDS // (1 + len(PROTOCOLS))):
        check(seed, protocol)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("protocol", [*PROTOCOLS, "mixed"])
def test_ten_thousand_seeds(protocol: str) -> None:
    for seed in range(10_000):
        check(seed, protocol)


@pytest.mark.parametrize("protocol", ["cuckoo", "cuckoo:patent"])
def test_filters_double_and_end_their_transfers_and_nothing_is_missing(protocol: str) -> None:
    counted = crowded(range(CROWDED_SEEDS), protocol)
    assert counted["doublings"] >= CROWDED_SEEDS, counted
    assert counted["transfers"] >= CROWDED_SEEDS, counted
    assert counted["both"] > 3 * counted["transfers"], counted
    if protocol == "cuckoo:patent":
        assert counted["halvings"] == 0, counted


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("protocol", ["cuckoo", "cuckoo:patent"])
def test_a_thousand_crowded_worlds(protocol: str) -> None:
    assert crowded(range(1_000), protocol)["doublings"] >= 2_000


def rows_announced(container: bytes) -> dict[int, int]:
    """Return the rows of each node, read from the octets of a tree."""
    count, bits = (1 << container[2]) - 1, int.from_bytes(container[4:6], "little")
    at = 18 + (count + 7) // 8
    present = "".join(f"{octet:08b}" for octet in container[18:at])
    rows = {}
    for node in range(count):
        if present[node] == "1":
            rows[node] = container[at]
            at += 1 + (container[at] * bits + 7) // 8
    assert at == len(container)
    return rows


def test_trees_grow_by_rows_and_shrink_again_among_participants() -> None:
    """Up to 300 endpoints and down to 5, in a bad network: read from the announcements that were sent."""
    network = ListeningNetwork(7, BAD)
    changing, seeking = (network.join(lease=3_600 * SECOND, period=3 * SECOND, discovery="tree") for _ in range(2))
    sought = [read(seeking, f"plant/line/topic{number}", "T") for number in (0, 4, 17, 150, 299)]
    made: list[Guid] = []
    rows = []
    for count in (5, 6, 10, 11, 25, 30, 31, 100, 300, 100, 31, 30, 25, 11, 10, 6, 5):
        while len(made) < count:
            made.append(write(changing, f"plant/line/topic{len(made)}", "T"))
        while len(made) > count:
            changing.participant.delete_endpoint(made.pop(), changing.now)
            changing.flush()
        network.run(4 * SECOND)
        rows.append(rows_announced(network.of(changing)[-1].container))
    (home,) = rows[0]
    assert [one[home] for one in rows] == [1, 2, 2, 3, 5, 6, 6, 6, 6, 6, 6, 6, 5, 3, 2, 2, 1]
    assert [sum(one.values()) for one in rows[:7]] == [1, 2, 2, 3, 5, 6, 7]  # a row for every five, none before
    assert [len(one) for one in rows[:6]] == [1] * 6  # a child only when the node is full
    assert max(len(one) for one in rows) > 7
    announced = [one.container for one in network.of(changing)]
    assert {(one[3], one[4:6]) for one in announced} == {(announced[0][3], announced[0][4:6])}  # k and m never change
    assert len(announced[-1]) == len(announced[0])
    assert network.run(
        60 * SECOND, until=lambda: [len(seeking.participant.matched(one)) for one in sought] == [1, 1, 0, 0, 0]
    )
    places = seeking.participant.sub_nodes(changing.participant.prefix)
    assert {key.split("\x1f")[1]: [place.layer for place in found] for key, found in places.items()} == {
        "plant/line/topic0": [3],
        "plant/line/topic4": [3],
    }


def test_crowded_worlds_of_trees_have_rows_and_children_and_nothing_is_missing() -> None:
    most, nodes = 0, 0
    for seed in range(CROWDED_SEEDS // 2):
        world = live(seed, "tree", most=CROWD, changes=40)
        for member in world.members:
            for one in world.network.of(member):
                rows = rows_announced(one.container)
                most, nodes = max(most, *rows.values()) if rows else most, max(nodes, len(rows))
        asked = [member for member in world.members if not member.crashed]
        searched = [event for member in asked for event in member.events if isinstance(event, TreeSearched)]
        assert any(event.found for event in searched)
    assert most == 6
    assert nodes >= 3


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name != "simple"])
def test_who_lost_a_peer_that_announced_to_others_meanwhile_finds_all_of_it_again(protocol: str) -> None:
    network = SimulatedNetwork(4041)
    options = {"period": SECOND, "discovery": protocol}
    patient = network.join(lease=5 * SECOND, **options)
    forgetful, third = (network.join(lease=3_600 * SECOND, **options) for _ in range(2))

    def create(member: SimulatedParticipant, writes: bool, topic: str) -> Guid:
        make = member.participant.create_writer if writes else member.participant.create_reader
        guid = make(topic, "T", QUALITIES[0], keyed=False, now=member.now)
        member.flush()
        return guid

    for topic in ("known", "for the third"):
        create(patient, False, topic)
    create(third, True, "for the third")
    known, new = create(forgetful, True, "known"), create(forgetful, True, "new")
    network.run(2 * SECOND)
    network.partition([forgetful])
    assert network.run(20 * SECOND, until=lambda: len(forgetful.participant.peers) == 1)
    create(third, True, "known")  # so the reader is announced again, and that is none of the first one's business
    network.run(2 * SECOND)
    network.heal()
    assert network.run(20 * SECOND, until=lambda: len(forgetful.participant.peers) == 2)
    create(patient, False, "new")  # before it can know that it was forgotten, and after a GAP
    network.run(10 * SECOND)
    assert [len(forgetful.participant.matched(writer)) for writer in (known, new)] == [1, 1]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_ends_before_a_silent_peer_is_lost_ends_there_too(protocol: str) -> None:
    network = SimulatedNetwork(6170)
    leaving = network.join(lease=3_600 * SECOND, period=SECOND, discovery=protocol)
    silent = network.join(lease=5 * SECOND, period=SECOND, discovery=protocol)
    common = {"topic": "rt/topic0", "type_name": "T", "qos": QUALITIES[0], "keyed": False, "now": 0}
    writer, reader = leaving.participant.create_writer(**common), silent.participant.create_reader(**common)
    leaving.flush()
    silent.flush()
    assert network.run(5 * SECOND, until=lambda: silent.participant.matched(reader) == (writer,))
    network.run(SECOND)
    network.partition([silent])
    leaving.participant.delete_endpoint(writer, leaving.now)
    leaving.flush()
    assert network.run(20 * SECOND, until=lambda: not leaving.participant.peers)
    assert silent.participant.matched(reader) == (writer,)
    network.heal()
    assert network.run(20 * SECOND, until=lambda: not silent.participant.matched(reader))


def test_replay_of_one_seed_sends_the_same_bytes() -> None:
    seed, protocol = int(os.environ.get("ROOKERY_SEED", "1")), os.environ.get("ROOKERY_PROTOCOL", "ribbon")
    assert check(seed, protocol) == check(seed, protocol)
