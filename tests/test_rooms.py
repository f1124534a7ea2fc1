"""Every module of the network has a test file of its own name, or a line here that says which test covers it and why.

`src/rookery/live/brokers/feed.py` is tested by `tests/live/brokers/test_feed.py`. Where that is not so, a line names
the file that runs the module and the reason that it is the better place: the module is data that others give meaning
to, or it is a part of a machine that shows what it does only when the whole machine runs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "rookery"
PACKAGES = ("machine", "rtps", "participant", "brokers", "overlay", "gateway", "live", "simulated")

#: By module: the test file that covers it, and why there.
ELSEWHERE: dict[str, tuple[str, str]] = {
    # rtps: the codec as properties over all of it, the protocol as a reader and a writer on one link
    "rtps/announcements": ("rtps/test_golden_datagrams.py", "read from datagrams of other implementations"),
    "rtps/events": ("participant/test_participant.py", "data: what a participant says"),
    "rtps/limits": ("participant/test_strangers.py", "data: each limit is met by a stranger that passes it"),
    "rtps/messages": ("rtps/test_codec_properties.py", "one property for all that is encoded"),
    "rtps/parameters": ("rtps/test_codec_properties.py", "one property for all that is encoded"),
    "rtps/policies": ("rtps/test_qos.py", "the policies and their compatibility are one table"),
    "rtps/submessages": ("rtps/test_codec_properties.py", "one property for all that is encoded"),
    "rtps/types": ("rtps/test_cdr.py", "a type is tested by the values that it encodes"),
    # participant: parts of one machine
    "machine/randomness": ("overlay/test_histories.py", "an interface: `random.Random` has it all"),
    # gateway: values that its machine emits
    "gateway/events": ("gateway/test_gateway.py", "data: what a gateway says"),
    # brokers: parts of one machine
    "brokers/batch_matching": ("brokers/test_intake.py", "what it finds shows in what the intake delivers"),
    "brokers/broker": ("brokers/test_state_machine.py", "the machine as a whole, under any commands"),
    "brokers/client_events": ("brokers/test_client.py", "data: what a client says"),
    "brokers/client_messages": ("brokers/test_requests.py", "data: each request has its answer there"),
    "brokers/conditions": ("brokers/test_store.py", "lent by the store, and compared with scan there"),
    "brokers/configuration": ("live/brokers/test_settings.py", "data: settings become it"),
    "brokers/events": ("brokers/test_turmoil.py", "data: what a broker says when its network falls apart"),
    "brokers/in_flight": ("brokers/test_deliveries.py", "data of the deliveries"),
    "brokers/kernels": ("brokers/test_static.py", "the kernel is compared with the plain router there"),
    "brokers/membership": ("brokers/test_state_machine.py", "joins and leaves are checked by the zones of all brokers"),
    "brokers/publishing": ("brokers/test_deliveries.py", "where events went shows in who got them"),
    "brokers/stretch": ("brokers/test_coordinates.py", "it compares coordinates with true times"),
    "brokers/tables": ("brokers/test_static.py", "itself the slow answer that others are compared with"),
    # overlay: parts of one machine
    "overlay/arcs": ("overlay/test_dissemination.py", "an event reaches every arc once"),
    "overlay/bulk": ("overlay/test_selection.py", "tables of all peers at once, beside those of each"),
    "overlay/cluster": ("overlay/test_joining.py", "a cluster needs its members"),
    "overlay/configuration": ("overlay/test_dynamics.py", "data"),
    "overlay/linking": ("overlay/test_dynamics.py", "a link needs both ends"),
    "overlay/links": ("overlay/test_selection.py", "the choice of links is what the table is for"),
    "overlay/paper": ("overlay/test_selection.py", "the printed table beside the sound one"),
    "overlay/publishing": ("overlay/test_dissemination.py", "what is published is followed to everybody"),
    "overlay/repair": ("overlay/test_dynamics.py", "there is nothing to repair without deaths"),
    "overlay/ring": ("overlay/test_invariants.py", "a ring is closed by all of its peers"),
    "overlay/soundness": ("overlay/test_dissemination.py", "sound is what misses nobody"),
    "overlay/state": ("overlay/test_joining.py", "the state that all parts share"),
    "overlay/workload": ("overlay/test_identity.py", "input of experiments and tests"),
    # gateway: parts of one machine
    # live: sockets of the machines above
    "live/brokers/client": ("live/conformance/test_conformance.py", "one suite for all clients"),
    "live/brokers/loopback": ("live/brokers/test_status.py", "a fixture of tests and experiments"),
    "live/brokers/subscriptions": ("cli/test_subscription_files.py", "all kinds of files, at a real broker"),
    "live/groups": ("live/test_survey.py", "groups are listened to by a survey"),
    "live/interfaces": ("live/test_interface.py", "which interface is used shows on two of them"),
    "live/overlay": ("live/test_overlay_client.py", "the client of the overlay"),
    "live/overlay_peer": ("live/test_overlay_live.py", "peers in processes of their own"),
    "live/pubsub": ("live/conformance/test_conformance.py", "an interface: what the suite asks of every client"),
    "live/site_links": ("live/test_island.py", "links between two gateways, dialed and broken"),
    "live/slices": ("live/test_driver.py", "turns of the loop show in a loop"),
    "live/spool/disk": ("live/test_spool_faults.py", "disks that fail"),
    "live/spool/folder": ("live/test_spool.py", "a spool is read as it was written"),
    "live/spool/frames": ("live/test_spool.py", "a spool is read as it was written"),
    "live/spool/recorder": ("live/test_spool_live.py", "recorded from a real network"),
    "live/spool/writer": ("live/test_spool.py", "a spool is read as it was written"),
    "live/tcp_hello": ("live/test_tcp.py", "a greeting has two ends"),
    "live/tcp_peers": ("live/test_tcp.py", "links between processes"),
    "live/udp": ("live/test_cyclone.py", "the other end is another implementation"),
    # simulated
    "simulated/baselines": ("overlay/test_baselines.py", "run beside the overlay that they are a baseline of"),
    "simulated/disks": ("machine/test_log.py", "the faults of a disk are judged by the log that outlives them"),
    "simulated/links": ("simulated/test_world.py", "what arrives when is seen in a world"),
    "simulated/overlay": ("overlay/test_dynamics.py", "the world of the overlay's own tests"),
}


def modules() -> list[str]:
    """Return the modules of the packages, as paths without an ending."""
    found = (path for package in PACKAGES for path in (SOURCE / package).rglob("*.py") if path.name != "__init__.py")
    return sorted(str(path.relative_to(SOURCE).with_suffix("")) for path in found)


def own_test(module: str) -> Path:
    folder, _, name = module.rpartition("/")
    return ROOT / "tests" / folder / f"test_{name}.py"


@pytest.mark.parametrize("module", modules())
def test_a_module_has_a_test_of_its_name_or_a_line_that_says_why_not(module: str) -> None:
    if module not in ELSEWHERE:
        assert own_test(module).is_file(), f"write {own_test(module).relative_to(ROOT)}, or a line in {__name__}"


@pytest.mark.parametrize("module", ELSEWHERE)
def test_a_line_is_about_a_module_without_a_test_of_its_own_and_names_one_that_exists(module: str) -> None:
    test, reason = ELSEWHERE[module]
    assert (SOURCE / f"{module}.py").is_file(), "no such module"
    assert not own_test(module).is_file(), "it has a test of its own by now"
    assert (ROOT / "tests" / test).is_file(), "no such test"
    assert reason
