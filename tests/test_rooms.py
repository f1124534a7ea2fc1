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
    "rtps/early": ("rtps/test_repair.py", "what comes early matters for what is asked again"),
    "rtps/events": ("participant/test_participant.py", "data: what a participant says"),
    "rtps/fragments": ("rtps/test_reader_and_writer.py", "reassembly is what a reader does with fragments of a writer"),
    "rtps/identity": ("rtps/test_codec_properties.py", "one property for all that is encoded"),
    "rtps/keeping": ("rtps/test_chosen_instances.py", "which samples are kept shows in what a late reader gets"),
    "rtps/limits": ("participant/test_strangers.py", "data: each limit is met by a stranger that passes it"),
    "rtps/locators": ("rtps/test_codec_properties.py", "one property for all that is encoded"),
    "rtps/messages": ("rtps/test_codec_properties.py", "one property for all that is encoded"),
    "rtps/octets": ("rtps/test_codec_properties.py", "one property for all that is encoded"),
    "rtps/parameters": ("rtps/test_codec_properties.py", "one property for all that is encoded"),
    "rtps/peers": ("rtps/test_outbox.py", "who is sent what shows in the datagrams"),
    "rtps/policies": ("rtps/test_quality.py", "the policies and their compatibility are one table"),
    "rtps/qos": ("rtps/test_quality.py", "the policies and their compatibility are one table"),
    "rtps/reader": ("rtps/test_reader_and_writer.py", "neither end does anything without the other"),
    "rtps/sedp": ("participant/test_participant.py", "discovery needs two participants"),
    "rtps/sequences": ("rtps/test_codec_properties.py", "one property for all that is encoded"),
    "rtps/spdp": ("participant/test_participant.py", "discovery needs two participants"),
    "rtps/stateless": ("participant/test_participant.py", "it writes announcements and nothing else"),
    "rtps/submessages": ("rtps/test_codec_properties.py", "one property for all that is encoded"),
    "rtps/types": ("rtps/test_cdr.py", "a type is tested by the values that it encodes"),
    "rtps/writer": ("rtps/test_reader_and_writer.py", "neither end does anything without the other"),
    # participant: parts of one machine
    "participant/configuration": ("participant/test_participant.py", "data"),
    "participant/contacts": ("participant/test_summary_conversation.py", "contacts are a conversation of two"),
    "participant/endpoints": ("participant/test_participant.py", "endpoints exist in a participant"),
    "participant/exchange": ("participant/test_participant.py", "samples go from one participant to another"),
    "participant/pairing": ("participant/test_participant.py", "pairs are made of two participants' endpoints"),
    "participant/reception": ("participant/test_strangers.py", "what is received is judged by what strangers send"),
    # brokers: parts of one machine
    "brokers/broker": ("brokers/test_state_machine.py", "the machine as a whole, under any commands"),
    "brokers/client_events": ("brokers/test_client.py", "data: what a client says"),
    "brokers/client_messages": ("brokers/test_requests.py", "data: each request has its answer there"),
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
    "overlay/directory": ("overlay/test_joining.py", "it is looked up by those who join"),
    "overlay/effects": ("overlay/test_messages.py", "data"),
    "overlay/fingers": ("overlay/test_dissemination.py", "fingers are for the ways of events"),
    "overlay/interests": ("overlay/test_dissemination.py", "who wants an event"),
    "overlay/linking": ("overlay/test_dynamics.py", "a link needs both ends"),
    "overlay/links": ("overlay/test_selection.py", "the choice of links is what the table is for"),
    "overlay/packed": ("overlay/test_identity.py", "packed identities are compared with plain ones"),
    "overlay/paper": ("overlay/test_selection.py", "the printed table beside the sound one"),
    "overlay/peer": ("overlay/test_invariants.py", "the machine as a whole"),
    "overlay/publishing": ("overlay/test_dissemination.py", "what is published is followed to everybody"),
    "overlay/repair": ("overlay/test_dynamics.py", "there is nothing to repair without deaths"),
    "overlay/ring": ("overlay/test_invariants.py", "a ring is closed by all of its peers"),
    "overlay/soundness": ("overlay/test_dissemination.py", "sound is what misses nobody"),
    "overlay/state": ("overlay/test_joining.py", "the state that all parts share"),
    "overlay/unreachable": ("overlay/test_dynamics.py", "somebody has to be gone"),
    "overlay/workload": ("overlay/test_identity.py", "input of experiments and tests"),
    # gateway: parts of one machine
    "gateway/channels": ("gateway/test_islands.py", "a channel joins two sites"),
    "gateway/gateway": ("gateway/test_islands.py", "the machine as a whole"),
    "gateway/membership": ("gateway/test_islands.py", "which gateways are of one island"),
    "gateway/messages": ("gateway/test_backbone.py", "messages of the backbone on their way"),
    "gateway/proxies": ("gateway/test_islands.py", "a proxy stands for an endpoint of another island"),
    "gateway/sites": ("gateway/test_backbone.py", "what a site knows of others came over the backbone"),
    "gateway/streams": ("gateway/test_backbone.py", "a stream has two ends"),
    # live: sockets of the machines above
    "live/brokers/client": ("live/conformance/test_conformance.py", "one suite for all clients"),
    "live/brokers/loopback": ("live/brokers/test_status.py", "a fixture of tests and experiments"),
    "live/brokers/subscriptions": ("cli/test_subscription_files.py", "all kinds of files, at a real broker"),
    "live/groups": ("live/test_survey.py", "groups are listened to by a survey"),
    "live/interfaces": ("live/test_interface.py", "which interface is used shows on two of them"),
    "live/island": ("live/test_islands_live.py", "islands of several processes"),
    "live/overlay": ("live/test_overlay_client.py", "the client of the overlay"),
    "live/overlay_peer": ("live/test_overlay_live.py", "peers in processes of their own"),
    "live/pubsub": ("live/conformance/test_conformance.py", "an interface: what the suite asks of every client"),
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
