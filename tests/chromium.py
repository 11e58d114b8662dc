"""Headless Chromium for tests of pages: offline, with a fresh profile, its console at hand."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "headless=new",
    "no-sandbox",
    "disable-gpu",
    "disable-quic",
    "disable-dev-shm-usage",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
    # no smooth scrolling, during which nothing is where it seems
    "force-prefers-reduced-motion",
    # whatever a page asks for of a network fails, and the console says so
    "proxy-server=127.0.0.1:9",
    "proxy-bypass-list=<-loopback>",
)


@contextlib.contextmanager
def chromium(profile: Path, *flags: str) -> Iterator[Any]:
    """A browser that is driven by selenium; skips where there is none, fails when CI=true.

    Args:
        profile: a folder that does not exist yet.
        flags: more of them, without dashes.
    """
    if CHROMIUM is None or DRIVER is None:
        message = "needs chromium and chromedriver (Debian packages chromium and chromium-driver)"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*FLAGS, f"user-data-dir={profile}", *flags):
        options.add_argument(f"--{flag}")
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield browser
    finally:
        browser.quit()
