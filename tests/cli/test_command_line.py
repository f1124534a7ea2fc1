"""The frame of the command line: exit codes, messages, settings, help. A small command of this file stands in it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Annotated

import pytest
import typer

from rookery import cli
from rookery.cli.options import Json, note, write, write_json
from rookery.errors import SchemaError


def greet(
    name: Annotated[str, typer.Argument(help="Whom to greet.")],
    punctuation: Annotated[str, typer.Option(help="What closes the greeting.")] = ".",
    times: Annotated[int, typer.Option(help="How often.")] = 1,
    json: Json = False,
) -> int | None:
    """Greet someone."""
    note("greeting")
    if name == "schema":
        raise SchemaError("no such type\nhint: use float")
    if name == "file":
        Path("missing.csv").read_text()
    if name == "bug":
        raise ZeroDivisionError("by zero")
    if name == "interrupt":
        raise KeyboardInterrupt
    if name == "three":
        return 3
    for _ in range(times):
        if json:
            write_json({"hello": name})
        else:
            write(f"hello {name}{punctuation}")
    return None


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command line with one more command, `greet`; return exit code, stdout and stderr."""
    module = ModuleType("rookery.cli.greet")
    module.command = greet  # type: ignore[attr-defined]
    module.EXAMPLES = ["rookery greet Ada", "rookery greet 'a[0]'"]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "rookery.cli.greet", module)
    monkeypatch.setitem(cli.COMMANDS, "greet", "Greet someone.")
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("ROOKERY_")]:
        monkeypatch.delenv(name)

    def result(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            cli.main(list(arguments))
        data, errors = capfd.readouterr()
        return int(left.value.code or 0), data, errors

    return result


def test_data_goes_to_stdout_and_the_rest_to_stderr(run: Run) -> None:
    assert run("greet", "Ada") == (0, "hello Ada.\n", "rookery: greeting\n")
    assert run("greet", "Ada", "--json") == (0, '{\n  "hello": "Ada"\n}\n', "rookery: greeting\n")


def test_exit_codes(run: Run) -> None:
    assert run("greet", "three")[0] == 3
    assert run("greet", "interrupt")[0] == 130
    assert run("greet")[0] == 2
    assert run("greet", "Ada", "--bogus")[0] == 2
    assert run("greet", "Ada", "--times", "often")[0] == 2
    code, data, errors = run("great", "Ada")
    assert (code, data) == (2, "")
    assert "Did you mean 'greet'?" in errors


def test_an_error_is_one_message_and_never_a_traceback(run: Run) -> None:
    assert run("greet", "schema") == (1, "", "rookery: greeting\nrookery: no such type\nhint: use float\n")
    code, _, errors = run("greet", "file")
    assert (code, errors.splitlines()[-1]) == (1, "rookery: missing.csv: No such file or directory")
    code, _, errors = run("greet", "bug")
    assert code == 1
    assert "unexpected ZeroDivisionError: by zero" in errors
    assert "Traceback" not in errors


def test_debug_shows_the_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SchemaError):
        cli.main(["--debug", "greet", "schema"])
    monkeypatch.setenv("ROOKERY_DEBUG", "1")
    with pytest.raises(SchemaError):
        cli.main(["greet", "schema"])


def test_flags_win_over_the_environment_over_the_file_over_the_default(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("greet", "Ada")[1] == "hello Ada.\n"
    Path("rookery.toml").write_text('[greet]\npunctuation = "?"\ntimes = 2\n')
    assert run("greet", "Ada")[1] == "hello Ada?\nhello Ada?\n"
    monkeypatch.setenv("ROOKERY_GREET_PUNCTUATION", "!")
    assert run("greet", "Ada")[1] == "hello Ada!\nhello Ada!\n"
    assert run("greet", "Ada", "--punctuation", ";", "--times", "1")[1] == "hello Ada;\n"


def test_the_settings_file_can_be_named(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[greet]\ntimes = 3\n")
    monkeypatch.setenv("ROOKERY_CONFIG", str(tmp_path / "mine.toml"))
    assert run("greet", "Ada")[1].count("hello") == 3
    monkeypatch.setenv("ROOKERY_CONFIG", "nowhere.toml")
    assert run("greet", "Ada") == (1, "", "rookery: nowhere.toml: No such file or directory\n")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[greet]\ntime = 2\n", "rookery.toml: [greet] has no setting time; did you mean times?"),
        ("[great]\ntimes = 2\n", "rookery.toml: [great] is not the table of a command; did you mean greet?"),
        ("times = 2\n", "rookery.toml: [times] is not the table of a command"),
        ("[greet\n", "rookery.toml is not TOML: "),
        ('[greet]\ntimes = "many"\n', "'--times'"),
    ],
)
def test_a_setting_that_means_nothing_is_wrong_usage(run: Run, text: str, complaint: str) -> None:
    Path("rookery.toml").write_text(text)
    code, data, errors = run("greet", "Ada")
    assert (code, data) == (2, "")
    assert complaint in errors


def test_help_groups_the_commands_by_what_people_come_for(run: Run) -> None:
    _, data, _ = run("--help")
    titles = [line.strip("╭╮─ ") for line in data.splitlines() if line.startswith("╭")]
    assert titles == ["Options", "Commands", *cli.GROUPS]  # `greet` is in no group
    for title, group in cli.GROUPS.items():
        panel = data[data.index(f"─ {title} ─") :].partition("╰")[0]
        listed = [line.split()[1] for line in panel.splitlines() if line.startswith("│ ") and line[2] != " "]
        assert listed == list(group)


def test_help_lists_the_commands_and_ends_with_examples(run: Run) -> None:
    code, data, _ = run("--help")
    assert code == 0
    listed = " ".join(data.replace("│", " ").split())  # long lines are wrapped inside a frame
    for name, line in cli.COMMANDS.items():
        assert f"{name} {line}" in listed
    code, data, _ = run("greet", "--help")
    assert code == 0
    assert [line.strip() for line in data.rstrip().splitlines()[-3:]] == [
        "Examples:",
        "rookery greet Ada",
        "rookery greet 'a[0]'",
    ]


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_the_help_of_every_command_ends_with_its_examples(run: Run, name: str) -> None:
    code, data, _ = run(name, "--help")
    assert code == 0
    assert data.index("Examples:") < data.index(f"rookery {name}", data.index("Examples:"))
    # The data of the others are JSON lines, or lines for a shell, in any case.
    assert "--json" in data or name in ("completion", "peer", "subscribe")


@pytest.mark.parametrize("arguments", [["--version"], ["-V"], ["--version", "test"]])
def test_version(run: Run, arguments: list[str]) -> None:
    assert run(*arguments) == (0, f"rookery {cli.__version__}\n", "")


def test_only_the_chosen_command_is_imported() -> None:
    listing = "import sys; print(sorted(name for name in sys.modules if name.startswith('rookery')))"
    program = f"import sys\ntry:\n from rookery.cli import main; main(['--help'])\nexcept SystemExit: {listing}"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    modules = loaded.splitlines()[-1]
    assert "rookery.cli.application" in modules
    for name in cli.COMMANDS:
        assert f"'rookery.cli.{name}'" not in modules


def test_a_reader_that_has_enough_ends_the_command_quietly() -> None:
    program = (
        "import sys, types; from rookery import cli\n"
        "from rookery.cli.options import write\n"
        "def command() -> None:\n for number in range(10**6): write(str(number))\n"
        "module = types.ModuleType('rookery.cli.flood'); module.command = command; module.EXAMPLES = []\n"
        "sys.modules['rookery.cli.flood'] = module; cli.COMMANDS['flood'] = ''\n"
        "cli.main(['flood'])\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"0\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=600) == 1
