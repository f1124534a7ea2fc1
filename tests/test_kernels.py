"""The compile cache: a second process finds the machine code of the first, and a changed kernel finds none."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SMALL_KERNEL = """
from rookery.kernels import kernel

@kernel
def triple(value):
    return 3 * value
"""

PROGRAM = """
import json, sys
sys.path.insert(0, {folder!r})
from kernels_for_test.kernels import triple
assert triple(14) == 42
stats = triple.stats
print(json.dumps([sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "kernels_for_test"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "kernels.py").write_text(SMALL_KERNEL)
    return tmp_path


def run(program: str, cache: Path) -> str:
    environment = {**os.environ, "ROOKERY_CACHE": str(cache)}
    environment.pop("NUMBA_CACHE_DIR", None)
    finished = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=3_000
    )
    return finished.stdout


def test_a_second_process_does_not_compile_again(folder: Path, tmp_path: Path) -> None:
    program = PROGRAM.format(folder=str(folder))
    hits, misses = json.loads(run(program, tmp_path / "cache"))
    assert (hits, misses) == (0, 1)
    hits, misses = json.loads(run(program, tmp_path / "cache"))
    assert (hits, misses) == (1, 0)


def test_kernels_are_compiled_once_for_all_the_places_that_have_them(tmp_path: Path) -> None:
    """A second environment, and the zip file that Spark sends, take the code that the first one left."""
    source = Path(__file__).parents[1] / "src" / "rookery"
    package = tmp_path / "one" / "rookery"
    (package / "part").mkdir(parents=True)
    for name in ("__init__.py", "version.py", "kernels.py"):
        shutil.copy(source / name, package)
    (package / "part" / "__init__.py").touch()
    (package / "part" / "kernels.py").write_text(SMALL_KERNEL)
    shutil.copytree(package, tmp_path / "two" / "rookery")
    archive = shutil.make_archive(str(tmp_path / "three"), "zip", tmp_path / "one")
    counts = []
    for place in (tmp_path / "one", tmp_path / "two", archive):
        program = PROGRAM.format(folder=str(place)).replace("kernels_for_test", "rookery.part")
        counts.append(json.loads(run(program, tmp_path / "cache")))
    assert counts == [[0, 1], [1, 0], [1, 0]]


TYPES = ("int8", "int16", "int32", "int64", "float32", "float64")
#: Between reading the index and writing it there is time for the others, as there may be on a busy machine.
BESIDE = """
import json, sys, time
import numpy as np
from numba.core import caching
read = caching.IndexDataCacheFile._load_index
def read_slowly(index):
    found = read(index)
    time.sleep(1)
    return found
caching.IndexDataCacheFile._load_index = read_slowly
sys.path.insert(0, {folder!r})
from kernels_for_test.kernels import triple
print("here", flush=True)
sys.stdin.readline()
for name in sys.argv[1:]:
    assert triple(np.dtype(name).type(14)) == 42
stats = triple.stats
print(json.dumps([sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""


def beside_each_other(folder: Path, cache: Path, works: list[tuple[str, ...]]) -> list[list[int]]:
    """Let a process for each entry call the kernel with these types, all at once; return hits and misses of each."""
    environment = {**os.environ, "ROOKERY_CACHE": str(cache)}
    program = [sys.executable, "-c", BESIDE.format(folder=str(folder))]
    pipe = subprocess.PIPE
    beside = [
        subprocess.Popen([*program, *names], env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        for names in works
    ]
    for process in beside:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
    for process in beside:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate() for process in beside]
    assert [process.returncode for process in beside] == [0] * len(works), said
    return [json.loads(out.splitlines()[-1]) for out, _ in said]


def test_processes_that_compile_beside_each_other_lose_nothing(folder: Path, tmp_path: Path) -> None:
    assert beside_each_other(folder, tmp_path, [(name,) for name in TYPES]) == [[0, 1]] * len(TYPES)
    assert beside_each_other(folder, tmp_path, [TYPES]) == [[len(TYPES), 0]]


def test_processes_that_want_the_same_kernel_compile_it_once(folder: Path, tmp_path: Path) -> None:
    """Brokers that are started together, Spark's workers: one compiles, the others wait for what it saves."""
    assert sum(misses for _, misses in beside_each_other(folder, tmp_path / "cache", [("int64",)] * 4)) == 1


def test_a_process_that_was_stopped_holds_nobody_up_for_good(folder: Path, tmp_path: Path) -> None:
    shortened = "import rookery.kernels; rookery.kernels.PATIENCE = 1.0\n"
    program = shortened + PROGRAM.format(folder=str(folder))
    held = (
        "import rookery.kernels, sys, time;"
        f"sys.path.insert(0, {str(folder)!r});"
        "from kernels_for_test.kernels import triple;"
        "compiler = triple._compiler; compiler.compile = lambda *_: print('held', flush=True) or time.sleep(3_000);"
        "triple(14)"
    )
    environment = {**os.environ, "ROOKERY_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen([sys.executable, "-c", held], env=environment, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            assert json.loads(run(program, tmp_path / "cache")) == [0, 1]
        finally:
            holder.kill()
    assert json.loads(run(program, tmp_path / "cache")) == [1, 0]


def test_kernel_files_import_kernel_files_alone() -> None:
    """What they are compiled with is in the hash that names their folder."""
    source = Path(__file__).parents[1] / "src"
    files = sorted(source.rglob("*kernels.py"))
    assert len(files) > 10
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            ours = [name for name in names if name.startswith("rookery")]
            assert all(name.endswith("kernels") for name in ours), (file, ours)


def test_the_cache_folder_is_keyed_by_all_kernel_files(tmp_path: Path) -> None:
    """Numba looks at one file's time only; the folder's name changes when any kernel file does."""
    source = Path(__file__).parents[1] / "src" / "rookery"
    copy = tmp_path / "copy" / "rookery"
    copy.mkdir(parents=True)
    for name in ("__init__.py", "version.py", "kernels.py"):
        (copy / name).write_bytes((source / name).read_bytes())
    (copy / "part").mkdir()
    (copy / "part" / "kernels.py").write_text("ONE = 1\n")
    path = f"import sys; sys.path.insert(0, {str(copy.parent)!r}); "
    program = path + "import rookery.kernels, numba; print(numba.config.CACHE_DIR)"
    before = run(program, tmp_path / "cache")
    assert run(program, tmp_path / "cache") == before
    (copy / "part" / "kernels.py").write_text("ONE = 2\n")
    assert run(program, tmp_path / "cache") != before


def test_a_read_only_cache_still_compiles(folder: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    hits, misses = json.loads(run(PROGRAM.format(folder=str(folder)), blocked))
    assert (hits, misses) == (0, 1)


def test_who_waits_for_a_compilation_is_told_once(tmp_path: Path) -> None:
    """Through the command line's own listener; the second process loads, so it has nothing to say."""
    program = (
        "import numpy as np; from rookery.cli.application import tell_of_compilation; tell_of_compilation();"
        "from rookery.matching.kernels import encode_doubles, encode_integers;"
        "valid, codes = np.ones(2, np.bool_), np.empty((2, 1), np.int64);"
        "encode_doubles(np.zeros(2), valid, codes, 0); encode_integers(np.zeros(2, np.int64), valid, codes, 0);"
        "assert not codes.any()"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "ROOKERY_CACHE": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
            timeout=3_000,
        ).stderr.splitlines()
        for _ in range(2)
    ]
    assert len(said[0]) == 1
    assert said[0][0].startswith("rookery: compiling kernels, once for this machine")
    assert said[1] == []


def test_a_program_that_sets_up_no_logging_sees_it_too(tmp_path: Path) -> None:
    code = "import numpy as np; from rookery.matching.kernels import encode_doubles;" + (
        "encode_doubles(np.zeros(1), np.ones(1, np.bool_), np.empty((1, 1), np.int64), 0)"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "ROOKERY_CACHE": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        for _ in range(2)
    ]
    assert said[0].startswith("compiling kernels, once for this machine")
    assert said[0].count("\n") == 1
    assert said[1] == ""


def test_a_first_event_needs_no_kernel_of_batches() -> None:
    """Whoever adds a subscription and matches an event does not wait for what builds an index or matches a batch."""
    program = (
        "import rookery; from rookery.matching.bitmap import build_kernels, event_kernels, kernels;"
        "quotes = rookery.matcher(rookery.Schema(symbol=str, price=float));"
        "quotes.add('cheap', \"symbol = 'ACME' AND price < 10\");"
        "assert quotes.match({'symbol': 'ACME', 'price': 9.5}) == ['cheap'];"
        "batches = [kernels.match_events, *(getattr(build_kernels, name) for name in build_kernels.__all__)];"
        "print([one.__name__ for one in batches if one.signatures], len(event_kernels.match_event.signatures))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=3_000)
    assert done.stdout.strip() == "['fill_row'] 1"
