"""The page in a real browser: a click sorts, folds and downloads, in Chromium over its own pipe."""

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from test_report import page, tables  # noqa: F401

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed (Debian: apt install chromium)"),
]


class Chromium:
    """A browser without a window, asked by the DevTools protocol: JSON between zeros on the pipes 3 and 4."""

    def __init__(self, folder: Path) -> None:
        (asked, self.ask), (self.told, answer) = os.pipe(), os.pipe()
        # The browser looks for its pipes at 3 and 4.
        shell = f'exec 3<&{asked} 4>&{answer}; exec "$0" "$@"'
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--window-size=1280,900"]
        self.process = subprocess.Popen(
            ["bash", "-c", shell, BROWSER, *options, f"--user-data-dir={folder / 'profile'}"],
            pass_fds=(asked, answer), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(asked), os.close(answer)
        self.number, self.left, self.session = 0, b"", {}

    def __call__(self, method: str, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params} | self.session
        os.write(self.ask, json.dumps(message).encode() + b"\0")
        while True:
            text, found, rest = self.left.partition(b"\0")
            if not found:
                self.left += (more := os.read(self.told, 1 << 16))
                assert more, "the browser ended"
                continue
            self.left = rest
            if (said := json.loads(text)).get("id") == self.number:
                assert "result" in said, said
                return said["result"]

    def open(self, path: Path) -> None:
        target = self("Target.createTarget", url=path.as_uri())["targetId"]
        self.session = {"sessionId": self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        until = time.monotonic() + 60
        while self.run("location.protocol + document.readyState") != "file:complete":
            assert time.monotonic() < until
            time.sleep(0.05)

    def run(self, script: str):
        said = self("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    def click(self, element: str) -> None:
        """Click with the mouse at the middle of an element."""
        place = self.run(
            f"(() => {{ const e = {element}; e.scrollIntoView({{block: 'center', behavior: 'instant'}});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        at = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, **at)

    def press(self, key: str, code: int) -> None:
        more = {"key": key, "code": key, "windowsVirtualKeyCode": code, "text": "\r" if key == "Enter" else ""}
        for kind in ("keyDown", "keyUp"):
            self("Input.dispatchKeyEvent", type=kind, **more)


@pytest.fixture
def browser(tables, tmp_path):  # noqa: F811
    page(tables, tmp_path)
    found = Chromium(tmp_path)
    (tmp_path / "down").mkdir()
    try:
        found("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path / "down"))
        found.open(tmp_path / "page.html")
        yield found
    finally:
        found.process.terminate()
        found.process.wait(30)


def downloaded(folder: Path, ending: str) -> str:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if (found := list(folder.glob(f"*.{ending}"))) and found[0].stat().st_size:
            return found[0].read_text(encoding="utf-8")
        time.sleep(0.05)
    raise AssertionError(f"no {ending} came; there are {list(folder.iterdir())}")


SEEDS = "document.querySelector('#instance-1-seeds')"


def test_a_click_sorts_a_table_and_a_key_turns_it_round(browser):
    column = f"[...{SEEDS}.tBodies[0].rows].map((row) => row.cells[1].textContent)"
    heads = f"{SEEDS}.tHead.rows[0].cells"
    before = browser.run(column)
    browser.click(f"{heads}[1].firstChild")
    rising = sorted(before, key=int)
    assert browser.run(column) == rising and browser.run(f"{heads}[1].ariaSort") == "ascending"
    browser.press("Enter", 13)
    assert browser.run(column) == rising[::-1] != rising and browser.run(f"{heads}[1].ariaSort") == "descending"
    browser.click(f"{heads}[0].firstChild")
    assert browser.run(column) == before and browser.run(f"{heads}[1].ariaSort") is None


def test_a_click_folds_and_a_link_opens(browser):
    opened = "document.querySelector('details.graph').open"
    assert browser.run(opened) is True
    browser.click("document.querySelector('details.graph summary')")
    assert browser.run(opened) is False
    browser.run("location.hash = '#instance-1-seeds'")
    until = time.monotonic() + 10
    while not browser.run(opened) and time.monotonic() < until:
        time.sleep(0.05)
    assert browser.run(opened) is True


def test_tables_and_figures_come_down(browser, tmp_path):
    # A spreadsheet would compute what a label begins with; a number stays one.
    for row, cell, text in ((0, 1, "=1+1"), (1, 1, "@ann"), (0, 2, "-7")):
        browser.run(f"{SEEDS}.tBodies[0].rows[{row}].cells[{cell}].textContent = '{text}'")
    browser.click(f"{SEEDS}.parentElement.querySelector('.tools button')")
    lines = downloaded(tmp_path / "down", "csv").splitlines()
    wanted = browser.run(f"{SEEDS}.tBodies[0].rows.length")
    assert lines[0] == '"rank","vertex","degree","gain","reached"' and len(lines) == wanted + 1
    cells = [line.split(",") for line in lines[1:3]]
    assert [cells[0][1], cells[1][1], cells[0][2]] == ['"\'=1+1"', '"\'@ann"', '"-7"']
    browser.run("for (const one of document.querySelectorAll('details')) one.open = true")
    browser.click("document.querySelector('figure .tools button')")
    text = downloaded(tmp_path / "down", "svg")
    assert text.startswith("<svg") and "var(--" not in text and re.search(r"#[0-9a-f]{6}", text)


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(browser, width, scheme):
    browser("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.run("for (const one of document.querySelectorAll('details')) one.open = true")
    assert browser.run("document.documentElement.scrollWidth") <= width
    paper = browser.run("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(18, 22, 28)")


def test_paper_holds_every_table(browser):
    browser("Emulation.setDeviceMetricsOverride", width=720, height=1000, deviceScaleFactor=1, mobile=False)
    browser("Emulation.setEmulatedMedia", media="print")
    browser.run("for (const one of document.querySelectorAll('details')) one.open = true")
    assert browser.run("document.documentElement.scrollWidth") <= 720, "paper does not scroll"


def test_what_is_folded_is_printed(browser):
    browser.click("document.querySelector('details.graph summary')")
    browser("Page.enable")
    pages = len(browser("Page.printToPDF")["data"])
    assert browser.run("document.querySelector('details.graph').open") is False, "as it was before"
    browser.run("for (const one of document.querySelectorAll('details')) one.remove()")
    assert len(browser("Page.printToPDF")["data"]) < pages
