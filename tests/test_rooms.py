"""Every module of the network has a test file of its own name, or a line here that says which test covers it and why.
Every other module is imported by a test, or has such a line too (`REACHED`, or `LOADED` for a folder).

`src/rookery/live/brokers/log.py` is tested by `tests/live/brokers/test_log.py`. Where that is not so, a line names
the file that runs the module and the reason that it is the better place: the module is data that others give meaning
to, or it is a part of a machine that shows what it does only when the whole machine runs.
"""

from __future__ import annotations

import ast
import functools
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from rookery.cli import COMMANDS

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
    "rtps/xtypes/identifiers": (
        "rtps/xtypes/test_objects.py",
        "every object has identifiers, hashed as by Cyclone",
    ),
    "rtps/xtypes/information": (
        "rtps/xtypes/test_objects.py",
        "it comes back; damage is refused",
    ),
    "rtps/xtypes/writing": ("rtps/xtypes/test_objects.py", "what is written is hashed, and compared with Cyclone's"),
    # participant: parts of one machine
    "machine/randomness": ("overlay/test_histories.py", "an interface: `random.Random` has it all"),
    # gateway: values that its machine emits
    "gateway/events": ("gateway/test_gateway.py", "data: what a gateway says"),
    # brokers: parts of one machine
    "brokers/balancing_messages": ("brokers/test_balancing.py", "data: what brokers say of their load is seen there"),
    "brokers/batch_matching": ("brokers/test_intake.py", "what it finds shows in what the intake delivers"),
    "brokers/broker": ("brokers/test_state_machine.py", "the machine as a whole, under any commands"),
    "brokers/client_events": ("brokers/test_client.py", "data: what a client says"),
    "brokers/client_messages": ("brokers/test_requests.py", "data: each request has its answer there"),
    "brokers/conditions": ("brokers/test_store.py", "lent by the store, and compared with scan there"),
    "brokers/configuration": ("live/brokers/test_settings.py", "data: settings become it"),
    "brokers/distance_messages": ("brokers/test_landmarks.py", "data: what brokers say of distances is seen there"),
    "brokers/events": ("brokers/test_turmoil.py", "data: what a broker says when its network falls apart"),
    "brokers/in_flight": ("brokers/test_deliveries.py", "data of the deliveries"),
    "brokers/route_kernels": ("brokers/test_column_routes.py", "the kernel, compared with `next_hop` for every point"),
    "brokers/row_kernels": ("brokers/test_row_cuts.py", "the kernels, compared with their twin"),
    "brokers/late_matching": ("brokers/test_deliveries.py", "who wants an event by now shows in what is delivered"),
    "brokers/sending": ("brokers/test_overload.py", "how much is on its way shows where brokers are late"),
    "brokers/membership": ("brokers/test_state_machine.py", "joins and leaves are checked by the zones of all brokers"),
    # overlay: parts of one machine
    "overlay/arcs": ("overlay/test_dissemination.py", "an event reaches every arc once"),
    "overlay/bulk": ("overlay/test_selection.py", "tables of all peers at once, beside those of each"),
    "overlay/configuration": ("overlay/test_dynamics.py", "data"),
    "overlay/linking": ("overlay/test_dynamics.py", "a link needs both ends"),
    "overlay/links": ("overlay/test_selection.py", "the choice of links is what the table is for"),
    "overlay/paper": ("overlay/test_selection.py", "the printed table beside the sound one"),
    "overlay/publishing": ("overlay/test_dissemination.py", "what is published is followed to everybody"),
    "overlay/ring": ("overlay/test_invariants.py", "a ring is closed by all of its peers"),
    "overlay/soundness": ("overlay/test_dissemination.py", "sound is what misses nobody"),
    "overlay/state": ("overlay/test_joining.py", "the state that all parts share"),
    # gateway: parts of one machine
    # live: sockets of the machines above
    "live/brokers/client": ("conformance/test_delivery.py", "one suite for all networks"),
    "live/brokers/subscriptions": ("cli/test_subscription_files.py", "all kinds of files, at a real broker"),
    "live/client": ("conformance/test_client.py", "what a program may rely on, on every network"),
    "live/credentials": ("live/test_authority.py", "read from the files that an authority makes"),
    "live/doorway": ("live/test_tcp.py", "who is let in is seen on real sockets"),
    "live/unfinished": ("live/test_tcp.py", "frames that never end, on real sockets"),
    "live/groups": ("live/test_survey.py", "groups are listened to by a survey"),
    "live/udp_transport": ("live/test_interfaces.py", "which way a datagram takes shows on two networks"),
    "live/loop_thread": ("conformance/test_client.py", "plain code and several threads, on every network"),
    "live/metric_list": ("live/test_dashboard.py", "data: every metric has its panel, and a live process serves it"),
    "live/opening": ("conformance/test_client.py", "addresses and options, right and wrong"),
    "live/overlay": ("live/test_overlay_client.py", "the client of the overlay"),
    "live/overlay_peer": ("live/test_overlay_live.py", "peers in processes of their own"),
    "live/plain": ("conformance/test_client.py", "plain code and several threads, on every network"),
    "live/site_links": ("live/test_island.py", "links between two gateways, dialed and broken"),
    "live/spool/disk": ("live/test_spool_faults.py", "disks that fail"),
    "live/spool/folder": ("live/test_spool.py", "a spool is read as it was written"),
    "live/spool/frames": ("live/test_spool.py", "a spool is read as it was written"),
    "live/spool/recorder": ("live/test_spool_live.py", "recorded from a real network"),
    "live/spool/writer": ("live/test_spool.py", "a spool is read as it was written"),
    "live/tcp_hello": ("live/test_tcp.py", "a greeting has two ends"),
    "live/tcp_ports": ("live/test_tcp.py", "ports and dialing are seen on real sockets"),
    "live/tcp_peers": ("live/test_tcp.py", "links between processes"),
    "live/transport": ("conformance/test_client.py", "an interface: what the suite asks of every network"),
    "live/udp": ("live/test_cyclone.py", "the other end is another implementation"),
    # simulated
    "simulated/disks": ("machine/test_log.py", "the faults of a disk are judged by the log that outlives them"),
    "simulated/labor": ("brokers/test_overload.py", "a process that takes time is late in a world"),
    "simulated/links": ("simulated/test_world.py", "what arrives when is seen in a world"),
    "simulated/overlay": ("overlay/test_dynamics.py", "the world of the overlay's own tests"),
}

#: Of the other packages, what no test imports: the test that runs it through what it is a part of, and why there.
REACHED: dict[str, tuple[str, str]] = {
    "model/document_column_kernels": (
        "model/test_document_lines.py",
        "columns of lines, beside those of the old reader",
    ),
    "model/document_paths": ("model/test_document_lines.py", "what a schema wants shows in what is read"),
    "model/json_kernels": ("model/test_document_lines.py", "lines of JSON, beside the old reader"),
    "cli/clients": ("live/test_live_commands.py", "the clients are opened on a real network"),
    "cli/credentials": ("cli/test_every_option.py", "each command that connects reads them there"),
    "cli/progress": ("spark/test_fleets.py", "a bar is shown while Spark runs"),
    "discovery/planning/costs": ("discovery/planning/test_loads.py", "costs are priced loads"),
    "filters/bank/kernels": ("filters/test_filter_bank.py", "kernels, compared with the plain twin of the filter"),
    "filters/bank/slices": ("filters/test_filter_bank.py", "a part of the bank"),
    "filters/blocked/kernels": ("filters/test_no_false_negative.py", "kernels, compared through the filter"),
    "filters/bloom/kernels": ("filters/test_bloom.py", "kernels, compared with the plain twin of the filter"),
    "filters/hashing/kernels": ("filters/test_filter_hashing.py", "kernels, compared with the plain twin"),
    "filters/tree/elements": ("filters/test_bloom_tree.py", "a part of the tree"),
    "matching/baselines/sections": ("matching/test_engines.py", "one suite for all engines"),
    "matching/view": ("matching/test_compiled.py", "what is computed of a batch shows in what is matched"),
    "matching/baselines/topics": ("matching/test_engines.py", "one suite for all engines"),
    "matching/bitmap/line_kernels": ("matching/test_engines.py", "one suite for all engines"),
    "matching/regions": ("matching/test_engines.py", "one suite for all engines"),
    "matching/staging": ("matching/test_engines.py", "one suite for all engines"),
    "matching/times": ("matching/test_timeline.py", "times are those of a timeline"),
    "model/cells": ("model/test_tables.py", "cells are read in a table"),
    "model/files": ("model/test_tables.py", "files are read as tables"),
    "model/literals": ("model/test_cases.py", "literals are read in a condition"),
    "model/quantifiers": ("model/test_elements.py", "lists are asked in a condition"),
    "space/numbers": ("space/test_axes.py", "how numbers become coordinates, which the axes show"),
    "spark/demonstration": ("live/test_demonstration.py", "the demonstration as a whole"),
    "spark/plans": ("spark/test_match.py", "what `match` chooses"),
    "spark/zone_sql": ("spark/test_owners.py", "the SQL of zones, compared with the owners of events"),
    "spark/source": ("spark/test_spool_stream.py", "a source is read by a stream"),
    "web/application": ("web/test_serve_command.py", "a page is asked for by a browser"),
    "web/assets": ("web/test_serve_command.py", "a page is asked for by a browser"),
    "web/producers/participants": ("web/test_producers.py", "a part of two producers"),
    "model/dialects/log_sources": (
        "model/dialects/test_sigma.py",
        "a table; recorded events give it meaning",
    ),
    "model/dialects/sigma_conditions": ("model/dialects/test_sigma.py", "one suite for a rule as a whole"),
    "model/dialects/sigma_values": ("model/dialects/test_sigma.py", "one suite for a rule as a whole"),
    "model/dialects/wildcards": ("model/dialects/test_sigma.py", "one suite for a rule as a whole"),
    "model/dialects/translation": ("model/dialects/test_sigma.py", "data: what a reader returns"),
}
#: Modules that are loaded by their names: the pattern, the test that loads them all, and why there.
LOADED: dict[str, tuple[str, str]] = {
    "cli/[!ce]*": ("cli/test_every_option.py", "the command line imports the chosen command; each runs there"),
    "cli/completion": ("cli/test_config_and_completion.py", "the command line imports the chosen command"),
    "cli/explain": ("cli/test_rules_commands.py", "the command line imports the chosen command"),
    "cli/environment": ("test_launcher.py", "run by the launcher, with the Python that there is"),
    "papers/*": ("papers/test_claims.py", "a claim is loaded by its name, and with it what claims share"),
    "__main__": ("cli/test_config_and_completion.py", "run as `python -m rookery`"),
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


def imports_of(path: Path) -> set[tuple[str, str]]:
    """Return what a file imports anywhere in it, as modules and names; a dotted name in a text counts too."""
    text = path.read_text(encoding="utf-8")
    found = {(place, "") for place in re.findall(r"rookery(?:\.\w+)+", text)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            found |= {(node.module, alias.name) for alias in node.names}
    return {(module, name) for module, name in found if module.split(".")[0] == "rookery"}


@functools.cache
def homes() -> dict[tuple[str, str], str]:
    """Return where each name comes from that a package passes on, at once or when it is first used."""
    found = {}
    for path in SOURCE.rglob("__init__.py"):
        here = dotted(path)
        found |= {(here, name): module for module, name in imports_of(path) if name}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict):
                pairs = zip(node.keys, node.values, strict=True)
                texts = [
                    (k.value, v.value) for k, v in pairs if isinstance(k, ast.Constant) and isinstance(v, ast.Constant)
                ]
                found |= {(here, k): v if v.startswith("rookery.") else f"{here}.{v}" for k, v in texts}
    return found


@functools.cache
def package() -> dict[str, set[str]]:
    """Return the modules that each module of Rookery imports, by name."""
    imported = {dotted(path): modules_in(imports_of(path)) for path in SOURCE.rglob("*.py")}
    imported["rookery.cli.application"] |= {f"rookery.cli.{name}" for name in COMMANDS}  # the chosen one, by its name
    return imported


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def known() -> set[str]:
    return {dotted(path) for path in SOURCE.rglob("*.py")}


def modules_in(found: set[tuple[str, str]]) -> set[str]:
    """Return the modules that are imported, and those that the imported names come from."""
    modules = set()
    for module, name in found:
        parts = [*module.split("."), *([name] if name else [])]
        modules |= {".".join(parts[:length]) for length in range(1, len(parts) + 1)} & known()
        for length in range(1, len(parts)):
            home = homes().get((".".join(parts[:length]), parts[length]))
            while home is not None and home not in modules:
                modules |= {home} & known()
                home = homes().get((home, parts[length]))
    return modules


@functools.cache
def reached_from(test: str) -> set[str]:
    """Return the modules that a test file reaches through any number of imports, those of its folder's helpers too."""
    folder = (ROOT / "tests" / test).parent
    helpers = [path for path in folder.glob("*.py") if not path.name.startswith("test_")]
    todo = set().union(*(modules_in(imports_of(path)) for path in [ROOT / "tests" / test, *helpers]))
    reached: set[str] = set()
    while todo:
        module = todo.pop()
        reached.add(module)
        todo |= package()[module] - reached
    return reached


@functools.cache
def imported_by_tests() -> set[str]:
    found = set().union(*(imports_of(path) for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)))
    return modules_in(found)


def others() -> list[str]:
    """Return the modules that no test imports and none has the name of, packages left out, as paths."""
    paths = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    names = [str(path.relative_to(SOURCE).with_suffix("")) for path in paths if dotted(path) not in imported_by_tests()]
    return [name for name in names if name not in ELSEWHERE and not own_test(name).is_file()]


def test_what_no_test_imports_has_a_line_that_says_why() -> None:
    lost = [name for name in others() if name not in REACHED and not any(fnmatch(name, pattern) for pattern in LOADED)]
    assert not lost, f"import it in a test, or write a line in {__name__}"
    assert set(REACHED) <= set(others()), "a test imports it by now"


@pytest.mark.parametrize("module", REACHED)
def test_a_line_names_a_test_that_reaches_the_module(module: str) -> None:
    test, reason = REACHED[module]
    assert "rookery." + module.replace("/", ".") in reached_from(test)
    assert reason


@pytest.mark.parametrize("pattern", LOADED)
def test_a_pattern_is_of_modules_and_names_a_test(pattern: str) -> None:
    test, reason = LOADED[pattern]
    assert any(fnmatch(name, pattern) for name in others())
    assert (ROOT / "tests" / test).is_file()
    assert reason
