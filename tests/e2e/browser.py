"""A real browser on the pages: what is shown, and everything that must not happen while it is."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Error, Page, Request, sync_playwright

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP = 1440
PHONE = 390
LOAD_MS = 30_000
FOLLOW_MS = 5_000
STEP_MS = 50
QUIET_MS = 250  # with no request under way the page has what it asked for
CALLBACK = "/_dash-update-component"
FOLLOW_LINK = """path => {
    const link = document.createElement("a");
    link.href = path;
    document.querySelector("main").append(link);
    link.click();
}"""


@dataclass
class Sheet:
    """One page of the browser. ``problems`` gathers console errors, failed requests and requests that leave."""

    page: Page
    address: str
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._asked: set[Request] = set()
        self.page.on("requestfinished", self._answered)
        self.page.on("console", lambda said: self._note(said.text) if said.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self._note(str(error)))
        self.page.on("request", self._sent)
        self.page.on("requestfailed", self._failed)
        self.page.on("response", lambda got: self._note(f"{got.status}: {got.url}") if got.status >= 400 else None)

    def _note(self, problem: str) -> None:
        self.problems.append(f"{self.page.url}: {problem}")

    def _sent(self, request: Request) -> None:
        self._asked.add(request)
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname != "127.0.0.1":
            self._note(f"a request left this machine: {request.url}")

    def _answered(self, request: Request) -> None:
        self._asked.discard(request)

    def _failed(self, request: Request) -> None:
        self._asked.discard(request)
        if "ERR_ABORTED" not in str(request.failure):  # the page was left while it still loaded
            self._note(f"failed: {request.url} {request.failure}")

    def open(self, path: str) -> Self:
        """Opens a page and waits until its content, charts and rows are drawn.

        The first one is loaded; from there on it is as if a link was clicked, which draws the page without a reload.
        """
        if self.page.url in ("about:blank", self.address + path):
            self.page.goto(self.address + path, wait_until="commit")
            self.page.wait_for_selector("main#content", timeout=LOAD_MS)
        else:
            with self.page.expect_response(lambda answer: CALLBACK in answer.url, timeout=LOAD_MS):
                self.page.evaluate(FOLLOW_LINK, path)
        self.settle()
        return self

    def settle(self) -> None:
        """Waits until nothing is asked of the hub any more, and charts have drawn what they got."""
        quiet_ms = 0
        for _ in range(LOAD_MS // STEP_MS):
            self.page.wait_for_timeout(STEP_MS)
            quiet_ms = 0 if self._asked else quiet_ms + STEP_MS
            if quiet_ms >= QUIET_MS:
                break
        self.page.wait_for_function(
            "() => [...document.querySelectorAll('.dash-graph')].every(graph => graph.querySelector('.main-svg'))",
            timeout=LOAD_MS,
        )

    def figures(self, within: str = "main") -> dict[str, float | None]:
        """Returns the unrounded value of every figure, by name; None where it is unknown."""
        found: list[list[str]] = self.page.eval_on_selector_all(
            f"{within} [data-figure]", "all => all.map(one => [one.dataset.figure, one.dataset.value])"
        )
        return {name: float(value) if value else None for name, value in found}

    def texts(self, selector: str) -> list[str]:
        """Returns the text of every match, spaces as one."""
        return [re.sub(r"\s+", " ", text).strip() for text in self.page.locator(selector).all_inner_texts()]

    def text(self, selector: str) -> str:
        """Returns the text of the only match."""
        (text,) = self.texts(selector)
        return text

    def failed_cards(self) -> list[str]:
        return self.texts("[data-state='error']")

    def fits(self) -> bool:
        """Returns whether the page is no wider than the window, once charts have followed its size."""
        try:
            self.page.wait_for_function(
                "() => document.documentElement.scrollWidth <= window.innerWidth", timeout=FOLLOW_MS
            )
        except Error:
            return False
        return True

    def resize(self, width: int) -> None:
        self.page.set_viewport_size({"width": width, "height": 900})
        self.settle()

    def background(self) -> str:
        return str(self.page.evaluate("() => getComputedStyle(document.body).backgroundColor"))


@dataclass
class Chromium:
    """A browser with a fresh profile for every sheet."""

    browser: Browser

    @classmethod
    @contextlib.contextmanager
    def started(cls) -> Iterator[Self]:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
            try:
                yield cls(browser)
            finally:
                browser.close()

    @contextlib.contextmanager
    def sheet(self, address: str, *, scheme: Any = "light", width: int = DESKTOP) -> Iterator[Sheet]:
        """Yields a sheet on the hub at ``address``; afterwards nothing may have gone wrong on it."""
        context = self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        try:
            sheet = Sheet(context.new_page(), address)
            yield sheet
            assert sheet.problems == []
        finally:
            context.close()
