"""The same participants in a bad network: at quiescence everything is matched and every sample has arrived, in order.

In a *ring* the network is bad and nobody fails; in a *history* (`domain_histories`) participants crash and come back,
and links are cut. A failing seed prints the command that replays it. `--slow` runs 10,000 seeds of each.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable

import pytest
from tests.histories import Faults, live_through_all, replayed

from live.conftest import MESSAGE, RELIABLE
from rookery.discovery import PROTOCOLS
from rookery.errors import CalendarError
from rookery.rtps import Durability, Guid, QualityOfService, Reliability, SampleKind
from rookery.rtps.cdr import encode_sample
from rookery.rtps.events import EndpointMatched, MessageRejected, ParticipantLost, SampleReceived
from rookery.simulated.calendar import Calendar
from rookery.simulated.domain import SimulatedNetwork, SimulatedParticipant
from rookery.simulated.links import LinkConditions
from simulated.domain_histories import BAD, History

MANY_SEEDS = 200
LASTING = QualityOfService(reliability=Reliability.RELIABLE, durability=Durability.TRANSIENT_LOCAL, history_depth=None)
SECOND = 1_000_000


class Ring:
    """Participants that each write a topic of their own and read the next one's."""

    def __init__(
        self, seed: int, *, size: int, samples: int, conditions: LinkConditions, qos: QualityOfService
    ) -> None:
        self.network = SimulatedNetwork(seed, conditions)
        self.samples = samples
        self.members = [self.network.join(lease=60 * SECOND) for _ in range(size)]
        self.writers: list[Guid] = []
        self.readers: list[Guid] = []
        for index, member in enumerate(self.members):
            participant, following = member.participant, (index + 1) % size
            common = {"type_name": MESSAGE.name, "qos": qos, "keyed": False, "now": member.now}
            self.writers.append(participant.create_writer(f"topic{index}", **common))
            self.readers.append(participant.create_reader(f"topic{following}", **common))
            member.flush()

    def everything_matched(self) -> bool:
        return all(
            len(member.participant.matched(guid)) == 1
            for member, pair in zip(self.members, zip(self.writers, self.readers, strict=True), strict=True)
            for guid in pair
        )

    def write(self) -> None:
        for index, member in enumerate(self.members):
            for number in range(self.samples):
                # Every tenth sample needs three fragments.
                text = "word" * (1_000 if number % 10 == 9 else number)
                payload = encode_sample(MESSAGE, {"number": number, "text": text})
                member.participant.write(self.writers[index], payload, now=member.now)
            member.flush()

    def everything_arrived(self) -> bool:
        return all(len(received_numbers(member)) >= self.samples for member in self.members) and all(
            member.participant.is_acknowledged(writer)
            for member, writer in zip(self.members, self.writers, strict=True)
        )


def received_numbers(member: SimulatedParticipant) -> list[int]:
    return [event.sequence for event in member.events if isinstance(event, SampleReceived)]


def check_ring(seed: int) -> str:
    """Run a ring in a bad network to the end and return what was sent, as a digest."""
    replay = f"replay: ROOKERY_SEED={seed} pytest tests/simulated/test_domain.py -k replay"
    ring = Ring(seed, size=4, samples=20, conditions=BAD, qos=RELIABLE)
    assert ring.network.run(120 * SECOND, until=ring.everything_matched), f"not everything matched; {replay}"
    ring.write()
    assert ring.network.run(120 * SECOND, until=ring.everything_arrived), f"not everything arrived; {replay}"
    for member in ring.members:
        assert received_numbers(member) == list(range(1, 21)), f"not in order; {replay}"
        assert not [event for event in member.events if isinstance(event, MessageRejected | ParticipantLost)], replay
    return ring.network.digest


def test_everything_matches_and_arrives_under_loss_duplication_and_reordering() -> None:
    for seed in range(MANY_SEEDS):
        check_ring(seed)


def live(seed: int, faults: Faults) -> History:
    """Live through a history and compare; the discovery protocols take turns."""
    history = History(seed, discovery=PROTOCOLS[seed % len(PROTOCOLS)], faults=faults)
    assert history.network.run(300 * SECOND, until=lambda: not history.missing()), history.missing()
    history.network.run(20 * SECOND)
    assert not history.missing(), f"was there and is not any more: {history.missing()}"
    assert not history.wrong(), history.wrong()
    return history


REPLAY = "tests/simulated/test_domain.py -k replay_of_a_history"


def test_who_lives_at_the_end_of_a_history_has_everything_once() -> None:
    live_through_all(live, range(MANY_SEEDS), test=REPLAY)


def test_histories_have_faults_of_every_kind() -> None:
    counts: Counter[str] = Counter()
    for seed in range(20):
        counts.update(live(seed, Faults()).counts)
    assert counts["written"] > 400
    assert all(count >= 10 for count in counts.values()), counts


@pytest.mark.skipif(replayed() is None, reason="no history is named: ROOKERY_SEED, ROOKERY_FAULTS")
def test_replay_of_a_history() -> None:
    named = replayed()
    assert named is not None
    live(*named)


def test_a_history_is_a_function_of_its_seed() -> None:
    one, two, another = (live(seed, Faults()).network.digest for seed in (3, 3, 10))
    assert one == two != another


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_ten_thousand_seeds() -> None:
    for seed in range(10_000):
        check_ring(seed)


@pytest.mark.slow
@pytest.mark.timeout(0)
@pytest.mark.parametrize("first", range(200, 10_200, 500))
def test_ten_thousand_histories(first: int, say: Callable[[str], None]) -> None:
    live_through_all(live, range(first, first + 500), test=REPLAY, say=say)


def test_replay_of_one_seed_sends_the_same_bytes() -> None:
    seed = int(os.environ.get("ROOKERY_SEED", "0"))
    assert check_ring(seed) == check_ring(seed)


def test_another_seed_is_another_run() -> None:
    assert check_ring(1) != check_ring(2)


def test_a_late_reader_gets_the_past_in_a_bad_network() -> None:
    for seed in range(20):
        network = SimulatedNetwork(seed, BAD)
        early = network.join(lease=60 * SECOND)
        common = {"type_name": MESSAGE.name, "qos": LASTING, "keyed": False}
        writer = early.participant.create_writer("past", **common, now=early.now)
        for number in range(30):
            payload = encode_sample(MESSAGE, {"number": number, "text": ""})
            early.participant.write(writer, payload, now=early.now)
        early.flush()
        network.run(5 * SECOND)
        late = network.join(lease=60 * SECOND)
        late.participant.create_reader("past", **common, now=late.now)
        late.flush()
        assert network.run(60 * SECOND, until=lambda late=late: len(received_numbers(late)) >= 30), seed
        assert received_numbers(late) == list(range(1, 31))


def test_a_crash_ends_the_lease_and_a_goodbye_ends_it_at_once() -> None:
    network = SimulatedNetwork(3)
    watching, crashing, leaving = (network.join(lease=10 * SECOND) for _ in range(3))
    network.run(SECOND)
    assert len(watching.participant.peers) == 2
    leaving.leave()
    network.run(SECOND)
    assert [event.reason for event in watching.events if isinstance(event, ParticipantLost)] == ["disposed"]
    crashing.crash()  # last heard half a second after its start
    network.run(8 * SECOND)
    assert len(watching.participant.peers) == 1
    network.run(4 * SECOND)
    assert [event.reason for event in watching.events if isinstance(event, ParticipantLost)] == ["disposed", "expired"]


def test_after_a_partition_everyone_is_found_and_matched_again() -> None:
    ring = Ring(5, size=4, samples=3, conditions=BAD, qos=LASTING)
    network = ring.network
    assert network.run(60 * SECOND, until=ring.everything_matched)
    network.partition(ring.members[:2])
    assert network.run(200 * SECOND, until=lambda: all(len(m.participant.peers) == 1 for m in ring.members))
    assert not ring.everything_matched()
    network.heal()
    assert network.run(120 * SECOND, until=ring.everything_matched)
    ring.write()
    assert network.run(120 * SECOND, until=ring.everything_arrived)


def test_one_side_forgetting_the_other_is_repaired() -> None:
    # Only one of the two hears nothing for a lease: it finds the other again, and the other has never noticed.
    network = SimulatedNetwork(11)
    patient, hasty = network.join(lease=5 * SECOND), network.join(lease=3_600 * SECOND)
    common = {"type_name": MESSAGE.name, "qos": LASTING, "keyed": False}
    writer = patient.participant.create_writer("news", **common, now=0)
    reader = hasty.participant.create_reader("news", **common, now=0)
    patient.flush()
    hasty.flush()
    assert network.run(SECOND, until=lambda: bool(hasty.participant.matched(reader)))
    network.partition([patient])
    assert network.run(20 * SECOND, until=lambda: not hasty.participant.peers)
    assert len(patient.participant.peers) == 1
    network.heal()
    assert network.run(20 * SECOND, until=lambda: bool(hasty.participant.matched(reader)))
    patient.participant.write(writer, encode_sample(MESSAGE, {"number": 1, "text": "again"}), now=patient.now)
    patient.flush()
    assert network.run(5 * SECOND, until=lambda: bool(received_numbers(hasty)))


def test_a_participant_reads_what_it_writes_itself() -> None:
    network = SimulatedNetwork(1)
    member = network.join()
    common = {"type_name": MESSAGE.name, "qos": LASTING, "keyed": False, "now": 0}
    writer = member.participant.create_writer("own", **common)
    member.participant.write(writer, b"first", now=0)
    member.participant.create_reader("own", **common)
    member.participant.write(writer, b"second", now=0)
    member.flush()
    assert [e.payload for e in member.events if isinstance(e, SampleReceived)] == [b"first", b"second"]
    assert len([e for e in member.events if isinstance(e, EndpointMatched)]) == 2


def test_best_effort_is_never_repaired_and_never_out_of_order() -> None:
    qos = QualityOfService(reliability=Reliability.BEST_EFFORT)
    got: dict[bool, int] = defaultdict(int)
    for seed in range(10):
        ring = Ring(seed, size=2, samples=0, conditions=BAD, qos=qos)
        assert ring.network.run(60 * SECOND, until=ring.everything_matched)
        member = ring.members[0]
        for number in range(1, 41):
            member.participant.write(ring.writers[0], b"\0\1\0\0" + bytes((number,)), now=member.now)
            member.flush()
            ring.network.run(1_000)
        ring.network.run(10 * SECOND)
        numbers = received_numbers(ring.members[1])
        assert numbers == sorted(set(numbers))
        got[len(numbers) < 40] += 1
    assert got[True] == 10


def test_instances_end_and_are_forgotten_once_everyone_knows() -> None:
    network = SimulatedNetwork(2, BAD)
    one, other = (network.join(lease=60 * SECOND) for _ in range(2))
    for round_number in range(5):
        guid = one.participant.create_writer(f"t{round_number}", "T", LASTING, keyed=False, now=one.now)
        one.flush()
        assert network.run(30 * SECOND, until=lambda: len(other.participant.remote_endpoints) == 1)
        one.participant.delete_endpoint(guid, one.now)
        one.flush()
        assert network.run(30 * SECOND, until=lambda: not other.participant.remote_endpoints)
    assert other.participant.remote_endpoints == ()


def test_the_calendar_does_not_go_back() -> None:
    calendar = Calendar()
    order: list[str] = []
    calendar.at(5, lambda: order.append("b"))
    calendar.at(5, lambda: order.append("c"))
    calendar.at(2, lambda: order.append("a"))
    assert not calendar.run(10)
    assert order == ["a", "b", "c"]
    assert calendar.now == 10
    with pytest.raises(CalendarError, match="time does not go back"):
        calendar.at(9, lambda: None)


def test_kinds_of_samples_survive_the_way() -> None:
    network = SimulatedNetwork(4)
    one, other = (network.join() for _ in range(2))
    writer = one.participant.create_writer("keyed", "T", RELIABLE, keyed=True, now=0)
    reader = other.participant.create_reader("keyed", "T", RELIABLE, keyed=True, now=0)
    one.flush()
    other.flush()
    assert network.run(
        SECOND, until=lambda: bool(one.participant.matched(writer) and other.participant.matched(reader))
    )
    for kind in SampleKind:
        one.participant.write(writer, b"\0\1\0\0key!", now=one.now, kind=kind, key_hash=bytes(range(16)))
    one.flush()
    network.run(SECOND)
    got = [e for e in other.events if isinstance(e, SampleReceived)]
    assert [e.kind for e in got] == list(SampleKind)
    assert [e.key_hash for e in got] == [None, *[bytes(range(16))] * 3]
