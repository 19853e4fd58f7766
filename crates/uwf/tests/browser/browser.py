"""Drives a real browser through one case: `browser.py FILE.CASE`, with what the case needs as JSON on stdin.

A case is a function that takes a Browser. What is wrong is an AssertionError, or a problem that the page had by itself: an error or
a violation of the Content Security Policy on its console, a dialog nobody asked for, a request to somewhere else.
"""

import ctypes
import faulthandler
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error, sync_playwright

ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Pictures do not move while they are looked at.
COMMON = {"reduced_motion": "reduce", "viewport": {"width": 1280, "height": 900}, "timezone_id": "UTC"}
MODES = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
    "noscript": {"color_scheme": "light", "java_script_enabled": False},
}
# Milliseconds a page may take for what it does at once.
PATIENCE = 15_000
# Seconds after which a case hangs.
LIMIT = 300
# Of <linux/prctl.h>.
PR_SET_PDEATHSIG = 1


class Browser:
    """A browser that is logged in to the server of the test."""

    def __init__(self, playwright, scenario):
        self.scenario = scenario
        self.origin = scenario["url"]
        # Where the pages are: logging in leads there.
        self.url = self.origin
        self.problems = []
        self.expected_dialogs = []
        self.browser = playwright.chromium.launch(executable_path=scenario["chromium"], args=ARGS)

    def context(self, mode="light", **more):
        context = self.browser.new_context(base_url=self.origin, **{**COMMON, **MODES[mode], **more})
        context.set_default_timeout(PATIENCE)
        context.on("page", self.watch)
        if "java_script_enabled" not in MODES[mode]:
            context.add_init_script(
                "addEventListener('securitypolicyviolation', (event) => console.error("
                "`Content Security Policy: ${event.violatedDirective} ${event.blockedURI}`))"
            )
        page = context.new_page()
        page.goto(f"{self.origin}/login?token={self.scenario['secret']}")
        self.url = page.url.removesuffix("/")
        page.close()
        return context

    def is_logged_in(self, context):
        """Whether a page is shown without a new login."""
        page = context.new_page()
        page.goto("/threads")
        return "/login" not in page.url

    def page(self, path="/", mode="light"):
        page = self.context(mode).new_page()
        page.goto(path)
        return page

    def watch(self, page):
        goto = page.goto
        page.goto = lambda path, **more: goto(f"{self.url}{path}" if path.startswith("/") else path, **more)
        page.on("console", lambda message: self.said(page, message))
        page.on("pageerror", lambda error: self.problems.append(f"error in a script: {error}"))
        page.on("dialog", self.asked)
        page.on("request", self.requested)

    def said(self, page, message):
        # The page that was asked for may be meant to be missing.
        is_missing = message.text.startswith("Failed to load resource") and message.location.get("url") == page.url
        if message.type in ("error", "warning") and not is_missing:
            self.problems.append(f"on the console: {message.text}")

    def asked(self, dialog):
        if self.expected_dialogs:
            # A text is typed into the dialog first.
            reply = self.expected_dialogs.pop(0)
            if isinstance(reply, str):
                return dialog.accept(reply)
            return dialog.accept() if reply else dialog.dismiss()
        self.problems.append(f"a dialog: {dialog.message}")
        return dialog.dismiss()

    def requested(self, request):
        if not request.url.startswith((self.origin, "data:", "about:", "blob:")):
            self.problems.append(f"a request to {request.url}")

    def kept(self, name):
        """Where a file is kept for people to look at."""
        return os.path.join(self.scenario["screenshots"], name)

    def picture(self, page, name):
        """Keeps a picture of the page for people to look at. A busy Chromium sometimes cannot make one, which says nothing of the page."""
        for is_last in (False, False, True):
            try:
                return page.screenshot(path=self.kept(f"{name}.png"), full_page=True)
            except Error as error:
                if is_last or "Unable to capture screenshot" not in error.message:
                    raise
                time.sleep(1)

    def uwf(self, *args):
        """Runs a command in the storage root of the test; its exit code."""
        ran = subprocess.run([self.scenario["uwf"], *args], env=self.scenario["env"], cwd=self.scenario["cwd"], capture_output=True)
        return ran.returncode

    def check(self, page, name):
        """What has to hold for each page as it is now. Keeps a picture of it."""
        self.picture(page, name)
        result = Axe().run(page)
        assert result.violations_count == 0, f"{name}: {result.generate_report()}"
        width = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert width <= 0, f"{name}: {width} pixels wider than the window"


def until(what, holds, seconds=PATIENCE / 1000):
    """Waits for what no locator can wait for."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not in time: {what}"
        time.sleep(0.02)


def end_with_the_test():
    """Ends this process and what it started when the test ends, or when the case hangs: then it says where."""
    os.setpgid(0, 0)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

    def hangs():
        print(f"hangs after {LIMIT} seconds", file=sys.stderr)
        faulthandler.dump_traceback(all_threads=True)
        os.killpg(0, signal.SIGKILL)

    watchdog = threading.Timer(LIMIT, hangs)
    watchdog.daemon = True
    watchdog.start()


def main():
    end_with_the_test()
    module, case = sys.argv[1].split(".")
    scenario = json.load(sys.stdin)
    with sync_playwright() as playwright:
        browser = Browser(playwright, scenario)
        try:
            getattr(importlib.import_module(module), case)(browser)
        finally:
            for problem in browser.problems:
                print(problem)
        assert not browser.problems, "the page had problems, see above"
        browser.browser.close()


if __name__ == "__main__":
    main()
