"""The page's board inside a notebook, in a real browser."""

import pytest

import lab
from lab.page.levels import find_level
from lab.page.widget import widget
from pebble.dag import Dag
from pebble.errors import PebbleError


def test_it_is_played_in_its_frame(browser, tmp_path):
    path = tmp_path / "notebook.html"
    html = widget("first-steps")._repr_html_()
    path.write_text(f"<!doctype html><meta charset=utf-8><h1>Notebook</h1>{html}")
    browser.get(path.as_uri())
    browser.switch_to.frame(browser.find_element("tag name", "iframe"))
    for kind, v in ((0, 0), (0, 1), (2, 2), (1, 2)):
        browser.find_element("css selector", f'.vertex[data-v="{v}"]').click()
        browser.find_element("css selector", f'#verbs [data-kind="{kind}"]').click()
    assert browser.find_element("id", "stars").text == "★★★"
    browser.switch_to.default_content()
    worst = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert worst == []


def test_a_film_as_a_page_plays_at_once(browser, tmp_path):
    from lab.animation import animate
    from lab.sources import of_strategy

    path = tmp_path / "film.html"
    moves = animate(of_strategy("pyramid:h=2", "lru", 3), path) - 1
    browser.get(path.as_uri())
    assert browser.find_element("id", "play").text == "Pause"
    browser.find_element("id", "last").click()
    said = browser.find_element("id", "watching-what").text
    assert said == f"Watching: lru · move {moves} of {moves}"
    assert browser.find_element("id", "io-count").text == "6"


def test_what_it_takes():
    dag = Dag.from_predecessors([[], [], [0, 1]], names=["x", "y", "z"])
    for board in (
        lab.widget(dag, memory=3),
        widget("pyramid:h=2", 4),
        widget(find_level("grid")),
        widget([find_level("grid"), find_level("chain")]),
    ):
        assert "&lt;!doctype html&gt;" in board._repr_html_()[:60]
    with pytest.raises(PebbleError, match="memory=M"):
        widget(dag)
    with pytest.raises(PebbleError, match="at most 150"):
        widget("fft:n=64", 4)


def test_results_are_a_table():
    html = lab.sweep("matmul:m=2,n=2,k=2", "naive", "4,8")._repr_html_()
    assert html.count("<tr>") == 3
    assert "matmul:m=2,n=2,k=2" in html
