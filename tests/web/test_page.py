"""The page in a real browser: each view is used as a reader would use it, with the mouse and with the keyboard."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.conftest import Serve

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")
from playwright.sync_api import expect

#: A busy machine is slow, and slowness is no fault here.
expect.set_options(timeout=600_000)
VIEWS = ("network", "space", "match", "spark", "ledger")


@pytest.fixture(scope="module")
def url(serve: Serve, run_file: Path) -> Iterator[str]:
    """One replay for all tests, held at its end."""
    with serve(run_file, "--speed", "100") as address:
        yield address


@pytest.fixture
def ended(page: Any, url: str) -> Any:
    """The page, with the replay at its end."""
    page.goto(url)
    expect(page.locator("#connection")).to_have_text("replay of run.jsonl")
    expect(page.locator("#position")).to_have_value("1000")
    expect(page.locator("#play")).to_have_text("Play")
    expect(page.locator("#events-total")).not_to_have_text("–")
    return page


def number(page: Any, selector: str) -> float:
    return float(page.locator(selector).inner_text().replace(",", "").split()[0])


def drawn(page: Any, condition: Callable[[], bool]) -> bool:
    """Wait until what is drawn, a frame or more after a click, satisfies a condition."""
    while not condition():  # the run's limit ends a hang
        page.wait_for_timeout(50)
    return True


def painted(page: Any, selector: str) -> int:
    """Count the colors of a canvas: an empty one has one."""
    colors: int = page.locator(selector).evaluate(
        """canvas => new Set(new Uint32Array(
            canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"""
    )
    return colors


def test_the_network_shows_participants_pairs_and_costs(ended: Any) -> None:
    page = ended
    assert (number(page, "#participants-total"), number(page, "#islands-total")) == (12, 3)
    assert number(page, "#endpoints-total") == 24
    assert number(page, "#false-total") > 0
    assert page.locator("#traffic-table tbody th").all_inner_texts() == ["simple", "ribbon"]
    assert drawn(page, lambda: painted(page, "#network-canvas") > 2)
    before = page.locator("#network-canvas").screenshot()
    page.locator("#participants-table .line").nth(2).click()
    expect(page.locator("#participant-detail strong")).to_have_text("node 6")
    expect(page.locator("#participants-table [aria-selected=true]")).to_have_count(1)
    assert drawn(page, lambda: page.locator("#network-canvas").screenshot() != before)
    page.fill("#participants-filter", "site 2")
    expect(page.locator("#participants-table [role=grid]")).to_have_attribute("aria-rowcount", "5")
    page.get_by_role("button", name="Name").click()
    expect(page.locator("#participants-table [aria-sort=ascending]")).to_have_count(1)


def test_a_click_in_the_picture_chooses_a_participant(ended: Any) -> None:
    page = ended
    box = page.locator("#network-canvas").bounding_box()
    # The first of an island's four sits to the right of its middle; three islands are on a lattice of two by two.
    across = 0.25 + 0.42 / 2 * (0.5 / 4) ** 0.5
    page.mouse.click(box["x"] + box["width"] * across, box["y"] + box["height"] * 0.54 / 2)
    expect(page.locator("#participant-detail strong")).to_have_text("node 0")


def test_the_space_shows_zones_and_two_paths(ended: Any) -> None:
    page = ended
    page.click("#tab-space")
    expect(page.locator("#zones-total")).to_have_text("12")
    assert number(page, "#spanhop-mean") >= 0
    assert drawn(page, lambda: painted(page, "#space-canvas") > 8)
    page.get_by_role("button", name="Spanhop hops").click()
    expect(page.locator("#routes-table [aria-sort=descending]")).to_have_count(1)
    before = page.locator("#space-canvas").screenshot()
    page.click("#next-route")
    expect(page.locator("#route-text")).to_contain_text(re.compile(r"spanhop \d+ hops, greedy \d+ hops"))
    assert drawn(page, lambda: page.locator("#space-canvas").screenshot() != before)
    page.select_option("#zone-color", "subscriptions")
    page.locator("#space-canvas").click(position={"x": 200, "y": 200})
    expect(page.locator("#zones-table [aria-selected=true]")).to_have_count(1)


def test_a_picked_event_strikes_rows_out_and_says_by_what(ended: Any, url: str) -> None:
    page = ended
    page.click("#tab-match")
    page.check("#only-matched")
    page.locator("#events-table .line").first.click()
    expect(page.locator("#rows-table .line").first).to_be_visible()
    summary = page.locator("#match-summary").inner_text()
    matched, struck, total = map(int, re.findall(r"(\d+) match, (\d+) of (\d+) struck out", summary)[0])
    assert matched > 0
    assert matched + struck == total == 40
    assert int(page.locator("#events-table .line").first.locator("span").nth(2).inner_text()) == matched
    rows = page.locator("#rows-table .line")
    assert rows.nth(0).locator("span").nth(1).inner_text() == "✓ matches"
    first_struck = rows.nth(matched)
    assert first_struck.locator("span").nth(1).inner_text() == "✗ struck out"
    assert (
        first_struck.locator("span").nth(0).evaluate("cell => getComputedStyle(cell).textDecorationLine")
        == "line-through"
    )
    first_struck.click()
    decided = page.locator("#row-detail .decided").first.inner_text()
    assert "decides" in decided
    assert " is " in decided


def test_spark_shows_batches_versions_and_skew(ended: Any) -> None:
    page = ended
    page.click("#tab-spark")
    expect(page.locator("#spark-version")).to_have_text("version 2")
    expect(page.locator("#spark-batches")).to_have_text("6")
    expect(page.locator("#spark-skew")).to_have_text("1.50 ×")
    assert drawn(page, lambda: painted(page, "#batches-canvas") > 3)
    assert drawn(page, lambda: painted(page, "#skew-canvas") > 2)
    page.get_by_role("button", name="Load / mean").click()
    assert page.locator("#skew-table .line").first.locator("span").nth(4).inner_text() == "1.50"


def test_the_ledger_says_what_became_of_the_events(ended: Any) -> None:
    page = ended
    page.click("#tab-ledger")
    expect(page.locator("#verdict")).to_have_text("Nothing missed, nothing twice, nothing extra.")
    cells = page.locator("#ledger-table tbody tr").first.locator("td").all_inner_texts()
    assert [cells[place] for place in (0, 4, 5, 6)] == ["200", "0", "0", "0"]
    expect(page.locator("#notes"), "a text of the run is text, not markup").to_contain_text("<b>")


def test_the_keyboard_is_enough(ended: Any) -> None:
    page = ended
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("#tab-network").focus()
    for view in (*VIEWS[1:], VIEWS[0]):
        page.keyboard.press("ArrowRight")
        expect(page.locator(f"#tab-{view}")).to_be_focused()
        expect(page.locator(f"#{view}")).to_be_visible()
        expect(page.locator("[role=tabpanel]:visible")).to_have_count(1)
    page.keyboard.press("End")
    expect(page.locator("#tab-ledger")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Home")
    grid = page.locator("#participants-table [role=grid]")
    grid.focus()
    for key in ("End", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    active = grid.get_attribute("aria-activedescendant")
    expect(page.locator(f"#{active}")).to_have_attribute("aria-selected", "true")
    expect(page.locator(f"#{active}")).to_have_attribute("aria-rowindex", "12")
    expect(page.locator("#participant-detail strong")).to_have_count(1)


def test_the_structure_is_there_for_screen_readers(ended: Any) -> None:
    page = ended
    for role in ("banner", "main", "tablist"):
        expect(page.get_by_role(role)).to_have_count(1)
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, canvas, [role=grid], [role=tabpanel], a")]
            .filter(node => !(node.textContent.trim() || node.getAttribute("aria-label") || node.labels?.length
                || document.getElementById(node.getAttribute("aria-labelledby"))?.textContent.trim()))
            .map(node => node.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    levels = page.evaluate(
        """() => [...document.querySelectorAll("h1, h2, h3")].map(node => Number(node.tagName[1]))"""
    )
    assert levels[0] == 1
    assert max(levels) == 2
    assert levels.count(1) == 1


def test_a_replay_is_steered(ended: Any) -> None:
    page = ended
    end = number(page, "#events-total")
    page.locator("#position").focus()
    page.keyboard.press("Home")
    expect(page.locator("#events-total")).to_have_text("0")
    page.click("#tab-spark")
    expect(page.locator("#batches-canvas")).to_be_hidden()  # no empty frames
    page.locator("#position").focus()
    for _ in range(3):
        page.keyboard.press("PageUp")
    expect(page.locator("#position-text")).to_contain_text(" of ")
    page.select_option("#speed", "64")
    page.click("#play")
    expect(page.locator("#events-total")).to_have_text(f"{end:,.0f}")
    expect(page.locator("#play")).to_have_text("Play")
    # What came while the page was open is there too, not only what a snapshot holds.
    page.click("#tab-space")
    expect(page.locator("#routes-table .line").first).to_be_visible()
    page.click("#tab-spark")
    expect(page.locator("#spark-batches")).to_have_text("6")
    expect(page.locator("#batches-canvas")).to_be_visible()
    page.click("#tab-ledger")
    expect(page.locator("#notes li")).to_have_count(1)


def test_light_dark_and_phone_are_readable(browser: Any, url: str) -> None:
    papers = set()
    for scheme, width in (("light", 1280), ("dark", 1280), ("light", 390)):
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 844})
        page = context.new_page()
        page.goto(url)
        expect(page.locator("#participants-table .line").first).to_be_visible()
        for view in VIEWS:
            page.click(f"#tab-{view}")
            overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert overflow <= 0, f"{view} is wider than {width} pixels"
        papers.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        context.close()
    assert len(papers) == 2


def test_a_saved_page_works_alone(ended: Any, page: Any, tmp_path: Path) -> None:
    ended.click("#tab-match")
    with ended.expect_download() as download:
        ended.click("#save")
    file = tmp_path / "rookery.html"
    download.value.save_as(file)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    expect(page.locator("#connection")).to_contain_text("saved ")
    assert asked == [file.as_uri()]
    assert number(page, "#participants-total") == 12
    page.click("#tab-space")
    page.click("#next-route")
    expect(page.locator("#route-text")).to_contain_text("hops")
    page.click("#tab-match")
    page.locator("#events-table .line").first.click()
    expect(page.locator("#match-summary")).to_contain_text("struck out")
    page.click("#tab-ledger")
    expect(page.locator("#notes")).to_contain_text("<b>")
    expect(page.locator("#save")).to_be_hidden()
    expect(page.locator("#replay")).to_be_hidden()


def test_the_snapshot_is_what_the_page_shows(ended: Any, url: str) -> None:
    answer = ended.request.get(url + "snapshot")
    state = json.loads(answer.text())
    assert f"{state['totals']['events']:,}" == ended.locator("#events-total").inner_text()
    assert len(state["zones"]) == 12
