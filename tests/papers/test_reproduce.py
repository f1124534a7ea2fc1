"""`rookery reproduce`: verdicts, exit codes, messages; and a quick run, its page in a browser, its bytes.

In CI the run is of one claim of each kind, since `test_flips.py` measures the others there; with --slow it is of all.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet
import pytest

from rookery.cli import main
from rookery.papers import reproduce as module
from rookery.papers.claims import Claim, chosen, claims
from rookery.papers.page import make_page
from rookery.papers.reproduce import Ledger, expected_seconds, reproduce
from rookery.papers.results import Result
from rookery.papers.verdicts import Judgment, Verdict

ROOT = Path(__file__).parents[2]
#: One of each kind, and cheap: filters, cuckoo, discovery, overlay, brokers, fits by SciPy, matching, a time.
SUBSET = [
    "seed-000/theorem-union",
    "seed-000/changes-announced",
    "seed-001/break-even",
    "seed-002/identity-subsumption",
    "seed-002/equal-false-positives",
    "seed-002/shared-interest",
    "seed-003/worked-route",
    "seed-003/mgnp-stretch",
    "seed-004/fewer-tests",
    "seed-004/linear-time",
    "beyond/one-answer",
]
#: Milliseconds after which a browser hangs; on a busy machine it needs longer than its own half a minute.
HANG_MS = 600_000
#: What another run may change: it is a time.
MEASURED = "seconds"


def run_main(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["reproduce", *arguments])
    return int(left.value.code or 0)


def made(name: str, verdict: Verdict) -> Result:
    manifest = {"quick": True, "seed": 1, "commit": "0" * 40, "runs": 1, "parameters": [{}]}
    return Result(chosen([name])[0], Judgment(verdict, "figure", "why"), manifest, b"<svg></svg>")


def test_the_list_names_every_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main("--list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert [entry["name"] for entry in listed] == [claim.name for claim in claims()]
    assert all(entry["says"] and entry["verdict"] for entry in listed)
    assert run_main("seed-004", "--list") == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == len(chosen(["seed-004"]))


def test_an_unknown_claim_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_main("seed-000/delet") == 2
    assert "did you mean 'seed-000/deletion'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "verdict", "code"),
    [
        ("seed-000/theorem-union", Verdict.REPRODUCED, 0),
        ("seed-000/theorem-union", Verdict.CONTRADICTED, 3),
        ("seed-004/threshold-compiled", Verdict.NOT_TESTABLE, 0),  # it rests on a time
    ],
)
def test_exit_codes(
    name: str,
    verdict: Verdict,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    session = SimpleNamespace(stop=lambda: None)
    monkeypatch.setattr("rookery.spark.sessions.session", lambda **options: session)
    monkeypatch.setattr(module, "reproduce", lambda *a, **k: Ledger((made(name, verdict),)))
    assert run_main(name, "--quick", "--out", str(tmp_path)) == code
    out, said = capsys.readouterr()
    assert str(verdict) in out
    assert re.search(r"1 claims, about \d+ s on this machine", said)
    if verdict is not chosen([name])[0].verdict:
        assert name in said


def test_the_expected_time_comes_from_earlier_manifests(tmp_path: Path) -> None:
    shared = chosen(["seed-000/theorem-union", "seed-000/theorem-intersection"])
    (timed,) = chosen(["seed-004/linear-time"])

    def leave(claim: Claim, *, seconds: float, share: int = 1) -> None:
        """Leave the manifest of a run with a share of the tasks that there are now."""
        sweep = claim.experiment.sweep(quick=False)
        manifest = {"runs": sweep.runs, "parameters": [{}] * (len(sweep.configurations) // share)}
        (tmp_path / claim.name).mkdir(parents=True, exist_ok=True)
        (tmp_path / claim.name / "manifest.json").write_text(
            json.dumps({**manifest, "quick": False, "seconds": seconds})
        )

    for claim in shared:
        leave(claim, seconds=100.0)
    once = expected_seconds(tmp_path, shared[:1], quick=False, cores=2)
    assert once == 10 + 50
    assert expected_seconds(tmp_path, shared, quick=False, cores=2) == once  # they share one run
    assert expected_seconds(tmp_path, shared, quick=True, cores=2) < once
    leave(timed, seconds=30.0)
    assert expected_seconds(tmp_path, [*shared, timed], quick=False, cores=2) == once + 30  # it runs alone
    leave(timed, seconds=30.0, share=2)
    assert expected_seconds(tmp_path, [*shared, timed], quick=False, cores=2) == once + 60  # there was half as much


def test_without_matplotlib_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run_main("seed-000/deletion", "--out", str(tmp_path)) == 1
    assert "the extra 'figures' brings: pip install" in capsys.readouterr().err


def test_a_verdict_that_changed_is_seen(spark: Any, tmp_path: Path) -> None:
    (claim,) = chosen(["seed-000/theorem-intersection"])
    ledger = reproduce(spark, [claim, replace(claim, verdict=Verdict.REPRODUCED)], tmp_path, quick=True, seed=1)
    assert [result.changed for result in ledger.results] == [False, True]
    assert [result.claim.verdict for result in ledger.changed] == [Verdict.REPRODUCED]
    page = make_page(ledger.results[1:])
    assert "The committed verdict is “reproduced”" in page
    assert not (tmp_path / ".journal").exists()


def test_the_page_keeps_the_claims_of_earlier_runs(spark: Any, tmp_path: Path) -> None:
    names = ["seed-000/theorem-intersection", "seed-002/figure-6b"]
    for name in reversed(names):
        reproduce(spark, chosen([name]), tmp_path, quick=True, seed=1)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'data-claim="([^"]+)"', page) == names


def test_the_page_names_every_commit_that_its_results_are_of() -> None:
    first = made("seed-000/deletion", Verdict.REPRODUCED)
    second = replace(first, claim=chosen(["seed-001/traffic"])[0], manifest={**first.manifest, "commit": "1" * 40})
    assert "commit 000000000000<" in make_page([first, first])
    assert "commits 000000000000, 111111111111<" in make_page([first, second, first])


@dataclass(frozen=True, slots=True)
class Run:
    """A quick run: its folder, and the claims that it was of."""

    folder: Path
    claims: tuple[Claim, ...]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Run:
    """A quick run, as a user runs it."""
    pytest.importorskip("pyspark", reason="the sweep needs `pip install rookery[spark]`")
    folder = tmp_path_factory.mktemp("quick")
    names = [] if request.config.getoption("--slow") else SUBSET
    done = command(folder / "results", "local[2]", *names, hash_seed=1)
    assert done.returncode == 0, done.stderr
    ran = chosen(names)
    assert f"{len(ran)} claims, about" in done.stderr
    return Run(folder / "results", tuple(ran))


def command(out: Path, master: str, *names: str, hash_seed: int) -> subprocess.CompletedProcess[str]:
    """Run it in a process of its own; another `hash_seed` gives sets of strings another order."""
    arguments = [sys.executable, "-m", "rookery", "reproduce", *names, "--quick", "--master", master, "--out", str(out)]
    kept = ("SPARK_SUBMIT_OPTS",)
    environment = {
        key: value for key, value in os.environ.items() if key in kept or not key.startswith(("ROOKERY_", "SPARK_"))
    }
    environment["PYTHONHASHSEED"] = str(hash_seed)
    return subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)


@pytest.mark.spark
def test_the_quick_run_has_everything_for_every_claim(quick: Run) -> None:
    for claim in quick.claims:
        folder = quick.folder / claim.name
        verdict = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
        assert verdict["claim"] == claim.name
        assert verdict["why"]
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        assert {"commit", "seed", "parameters", "versions", "cpu"} <= manifest.keys()
        table = pyarrow.parquet.read_table(folder / "data.parquet")
        assert table.num_rows == len((folder / "data.csv").read_text(encoding="utf-8").splitlines()) - 1 > 0
        assert set(claim.experiment.times) <= set(table.column_names)
        assert (folder / "figure.svg").read_bytes().startswith(b"<?xml")
        assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.spark
def test_one_core_and_two_give_the_same_bytes(quick: Run, tmp_path: Path) -> None:
    untimed = [name for name in SUBSET if not chosen([name])[0].timed]
    done = command(tmp_path, "local[1]", *untimed, hash_seed=2)
    assert done.returncode == 0, done.stderr
    for name in untimed:
        files = sorted(path.name for path in (tmp_path / name).iterdir())
        assert files == sorted(path.name for path in (quick.folder / name).iterdir())
        for file in files:
            one, other = (tmp_path / name / file).read_bytes(), (quick.folder / name / file).read_bytes()
            if file == "manifest.json":
                first, second = json.loads(one), json.loads(other)
                assert min(first.pop(MEASURED), second.pop(MEASURED)) >= 0  # a quick one takes 0.00 s
                for name_of_checkout in ("commit", "sources_changed"):  # somebody may be at work in the checkout
                    assert first.pop(name_of_checkout) is not None
                    assert second.pop(name_of_checkout) is not None
                assert first == second
            else:
                assert one == other, f"{name}/{file} differs between local[1] and local[2]"


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_second_quick_run_has_the_same_bytes_but_for_times(quick: Run, tmp_path: Path) -> None:
    done = command(tmp_path, "local[1]", hash_seed=3)
    assert done.returncode == 0, done.stderr
    for claim in claims():
        mine, theirs = tmp_path / claim.name, quick.folder / claim.name
        times = list(claim.experiment.times)
        tables = [pyarrow.parquet.read_table(folder / "data.parquet").drop_columns(times) for folder in (mine, theirs)]
        assert tables[0].equals(tables[1]), claim.name
        if not claim.timed:
            for file in ("data.csv", "data.parquet", "figure.svg", "figure.png", "verdict.json"):
                assert (mine / file).read_bytes() == (theirs / file).read_bytes(), f"{claim.name}/{file}"


@pytest.mark.spark
def test_the_page_needs_nothing_beside_it(quick: Run) -> None:
    page = (quick.folder / "index.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page.replace('xlink:href="#', ""))
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page
    found = re.findall(r'\bid="([^"]+)"', page)
    assert len(found) == len(set(found))
    assert re.findall(r'data-claim="([^"]+)"', page) == [claim.name for claim in quick.claims]


@pytest.mark.spark
def test_the_page_in_a_browser(quick: Run) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser is driven by playwright")
    artifacts = ROOT / "artifacts"
    artifacts.mkdir(exist_ok=True)
    complaints: list[str] = []
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"], timeout=HANG_MS)
        for name, width, scheme in (("light", 1100, "light"), ("phone", 390, "dark")):
            page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page.set_default_timeout(HANG_MS)
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("requestfailed", lambda request: complaints.append(request.url))
            page.goto((quick.folder / "index.html").as_uri())
            assert page.locator("article.claim").count() == len(quick.claims)
            assert page.locator("article.claim figure svg").count() == len(quick.claims)
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"the page is {wide} px wider than a screen of {width}"
            ink = page.evaluate("getComputedStyle(document.querySelector('figure svg')).color")
            paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert ink != paper
            page.screenshot(path=artifacts / f"claims-{name}.png", full_page=False)
        chromium.close()
    assert complaints == []
