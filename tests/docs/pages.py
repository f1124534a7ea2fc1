"""Run a page of the documentation as its reader would: from top to bottom, in one folder, and compare what it prints.

The rule of the pages:

- ```` ```python ```` is a program, or with `>>>` a session; ```` ```sh ```` is a script with `rookery` on the path.
- ```` ```text ```` right after one of them is what it prints (`...` stands for anything).
- Any other block whose last line before it ends in `` `name`: `` is the file `name`.
- A block that cannot be run stands after `<!-- not run: why -->`, and the why is for the reader of the source. Commands
  in it must still be such that `rookery` understands them.
- What a page takes for granted (`robot.json`, say) is in `tests/docs/inputs/<page>/`.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "blocks", "commands_of", "run_page"]

FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", flags=re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`(?P<file>[\w./-]+)`:\s*$")
NOT_RUN = re.compile(r"<!-- not run: \S.* -->\s*$")
COMPARE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
RUNNABLE = ("python", "sh")
INPUTS = Path(__file__).with_name("inputs")
#: What ends one command of a script.
ENDS = frozenset("&|;<>")
SECONDS = 3_000


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its language and text, the line it begins at, the file it is, whether it is run."""

    language: str
    text: str
    line: int
    file: str | None
    is_run: bool


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for fence in FENCE.finditer(text):
        before = text[: fence.start()].rstrip()
        name = FILE.search(before)
        skipped = NOT_RUN.search(before) is not None
        line = text.count("\n", 0, fence.start()) + 1
        file = name["file"] if name and not skipped else None
        found.append(Block(fence["language"], fence["text"], line, file, not skipped))
    return found


def commands_of(block: Block) -> list[list[str]]:
    """Return the calls of `rookery` in a script, each as its arguments, without what the shell does with them."""
    found = []
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars="&|;<>")
        words.whitespace_split = True
        call: list[str] = []
        for word in words:
            if set(word) <= ENDS:
                break
            call.append(word)
        if call[:1] == ["rookery"]:
            found.append(call[1:])
    return found


def run_page(page: Path, *, folder: Path, commands: Path) -> int:
    """Run the page in `folder` with `commands` on the path; return how many blocks ran, raise where one is wrong."""
    if (INPUTS / page.stem).is_dir():
        shutil.copytree(INPUTS / page.stem, folder, dirs_exist_ok=True)
    session = _Session(folder)
    try:
        return _run_blocks(page, session, folder=folder, commands=commands)
    finally:
        session.close()


def _run_blocks(page: Path, session: _Session, *, folder: Path, commands: Path) -> int:
    ran = 0
    sequence = blocks(page)
    for block, following in zip(sequence, [*sequence[1:], None], strict=True):
        if block.file is not None:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.text, encoding="utf-8")
        if not block.is_run or block.language not in RUNNABLE:
            continue
        ran += 1
        place = f"{page.name}:{block.line}"
        if block.language == "python" and ">>>" in block.text:
            session.run(block.text, place=place)
            continue
        printed = _printed(block, place=place, folder=folder, commands=commands)
        if following is not None and following.language == "text" and following.is_run:
            assert doctest.OutputChecker().check_output(following.text, printed, COMPARE), (
                f"{place} printed\n{printed}\nand the page says\n{following.text}"
            )
    return ran


class _Session:
    """The Python of a page's reader: one process for all `>>>` of a page, in the page's folder from its start.

    Not this process: what is started once and keeps the folder of its start, as the JVM of a Spark session does, would
    look for the page's files in the folder of whichever test came first.
    """

    PROGRAM = """
import doctest, json, sys
names, answers = {}, sys.stdout
for line in sys.stdin:
    text, place, options = json.loads(line)
    report = []
    test = doctest.DocTestParser().get_doctest(text, names, place, place, 0)
    doctest.DocTestRunner(optionflags=options).run(test, out=report.append, clear_globs=False)
    names = test.globs
    print(json.dumps("".join(report)), file=answers, flush=True)
"""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None

    def run(self, text: str, *, place: str) -> None:
        """Run one block; what it prints must be what the page says."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-c", self.PROGRAM],
                cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([text, place, COMPARE]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"{place}: the Python of the page ended"
        assert not json.loads(answer), json.loads(answer)

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.communicate()


def _printed(block: Block, *, place: str, folder: Path, commands: Path) -> str:
    path = f"{commands}:{os.environ['PATH']}"
    program = [sys.executable, "-c"] if block.language == "python" else ["bash", "-euc"]
    done = subprocess.run(
        [*program, block.text],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{place} exited {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
