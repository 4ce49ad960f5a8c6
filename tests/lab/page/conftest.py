"""A real headless Chromium for the page; skipped where none is installed, never under CI."""

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        if os.environ.get("CI"):
            pytest.fail("CI must have chromium and chromedriver: the page is tested in them")
        pytest.skip("chromium and chromedriver are not installed")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    profile = tmp_path_factory.mktemp("profile")
    downloads = tmp_path_factory.mktemp("downloads")
    for argument in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1280,900",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    browser = webdriver.Chrome(options=options, service=service)
    browser.downloads = downloads
    yield browser
    browser.quit()


@pytest.fixture(scope="session")
def page_file(tmp_path_factory):
    from lab.page.assembly import write_page

    path = tmp_path_factory.mktemp("page") / "lessons.html"
    write_page(path)
    return path
