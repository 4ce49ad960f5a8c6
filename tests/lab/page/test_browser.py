"""The page in a real browser, as a player meets it."""

import time

import pytest

from lab.page.grading import grade
from lab.page.levels import find_level, lessons
from pebble.moves import Move

LEVELS = lessons()


class Player:
    """What a person does with the page."""

    def __init__(self, browser, page_file):
        self.browser, self.file = browser, page_file

    def open(self, name, size=(1280, 900)):
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.browser.get("about:blank")
        self.browser.get(f"{self.file.as_uri()}#{name}")
        return self

    def __getitem__(self, name):
        return self.browser.find_element("id", name)

    def text(self, name):
        return self[name].text

    def click(self, name):
        self[name].click()

    def vertex(self, v):
        return self.browser.find_element("css selector", f'.vertex[data-v="{v}"]')

    def move(self, kind, v):
        self.vertex(v).click()
        self.browser.find_element("css selector", f'#verbs [data-kind="{kind}"]').click()

    def keys(self, *keys):
        from selenium.webdriver import ActionChains

        ActionChains(self.browser).send_keys(*keys).perform()

    def classes(self, v):
        return set(self.vertex(v).get_attribute("class").split())

    def wait(self, condition):
        until = time.monotonic() + 10
        while not condition():
            assert time.monotonic() < until, "the page did not come round"
            time.sleep(0.05)


@pytest.fixture
def player(browser, page_file):
    player = Player(browser, page_file)
    yield player
    worst = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert worst == []


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_every_lesson_is_played_to_par(player, level, tmp_path):
    player.open(level.name)
    assert player.text("title") == level.title
    moves = [Move.parse(text, level.dag) for text in level.certificate]
    # Real clicks, but all in one go: other tests click one by one.
    player.browser.execute_script(
        """for (const [kind, v] of arguments[0]) {
          const vertex = document.querySelector(`.vertex[data-v="${v}"]`);
          vertex.dispatchEvent(new MouseEvent("click", {bubbles: true}));
          document.querySelector(`#verbs [data-kind="${kind}"]`).click();
        }""",
        [[move.kind, move.vertex] for move in moves],
    )
    assert player.text("stars") == "★★★"
    assert "That is par" in player.text("verdict")
    assert player.text("io-count") == str(level.par)
    player.browser.execute_script("document.getElementById('trace-panel').open = true")
    player.click("export")
    path = tmp_path / "play.txt"
    path.write_text(player["trace"].get_attribute("value"))
    (row,) = grade([path], level)
    assert (row.legal, row.io, row.above_par, row.reason) == (True, level.par, 0, "")


def test_illegal_moves_are_explained_as_in_python(player):
    from pebble.game import Game

    level = find_level("first-steps")
    player.open("first-steps").move(2, 2)
    assert str(Game(level.dag, 3).explain("C z")) in player.text("message")
    assert "lacks" in player.classes(0) & player.classes(1)
    assert player.text("io-count") == "0"


def test_undo_redo_restart(player):
    player.open("first-steps")
    player.move(0, 0)
    player.move(0, 1)
    assert player.text("red-count") == "2 of 3"
    player.click("undo")
    assert (player.text("io-count"), "red" in player.classes(1)) == ("1", False)
    player.click("redo")
    assert (player.text("io-count"), "red" in player.classes(1)) == ("2", True)
    player.click("restart")
    assert player.text("io-count") == "0"
    player.click("redo")
    assert player.text("io-count") == "1"


def test_keyboard_alone(player):
    player.open("first-steps")
    player.browser.execute_script("document.getElementById('title').focus()")
    player.keys("\ue004")  # Tab, from the text to the board
    assert player.browser.switch_to.active_element.get_attribute("data-v") == "0"
    player.keys("l", "\ue014", "l", "\ue013", "\ue007", "s")  # right, up, Enter computes
    assert player.text("stars") == "★★★"
    player.keys("n")
    assert player.text("title") == "Why deletion matters"


def test_screen_reader_texts(player):
    player.open("first-steps")
    assert player.vertex(2).get_attribute("aria-label") == "z, from x and y, output: no pebble"
    assert player["message"].get_attribute("aria-live") == "polite"
    player.move(0, 0)
    assert player.vertex(0).get_attribute("aria-label") == "x, input: red and blue"
    assert player["reds"].get_attribute("aria-label") == "1 of 3 red pebbles in use"


def test_the_first_costly_move_is_named(player):
    player.open("recompute")
    # Storing a and loading it again costs two; the store is where par slips away.
    dag = find_level("recompute").dag
    for text in ["L x", "C a", "C b", "S a", "D a", "C c", "D b", "L a", "D x", "C top", "S top"]:
        move = Move.parse(text, dag)
        player.move(move.kind, move.vertex)
    assert "Par is 2: 2 too much" in player.text("verdict")
    player.wait(lambda: "step 4, STORE a" in player.text("costly"))
    player.click("show-costly")
    assert "move 3 of 11" in player.text("watching-what")
    player.click("stop")
    assert player.text("io-count") == "4"


def test_hints_lead_to_par(player):
    player.open("recompute")
    player.move(0, 0)
    player.click("hint")
    assert "You need a for b" in player.text("message")
    player.click("hint")
    player.wait(lambda: "COMPUTE a leads to" in player.text("message"))
    assert "hinted" in player.classes(1)


def test_replay_steps_and_plays(player):
    player.open("flash")
    player.move(0, 0)
    player.click("watch")
    assert player["play"].text == "Pause"
    player.wait(lambda: "move 2 of" in player.text("watching-what"))
    player.click("play")
    player.click("last")
    assert player.text("io-count") == "42"
    player.click("first")
    player.click("step")
    assert "move 1 of" in player.text("watching-what")
    player.click("stop")
    assert player.text("io-count") == "1"  # my own game is as I left it


PASTED = [
    ("", "there is nothing here"),
    ("hello", "line 1: 'hello' is no move"),
    ("L x\nC z", "needs y red"),
    ("L x\nL q", "there is no vertex 'q'"),
    ("# pebble-trace 9\nL 0", "version 9"),
    ("# pebble-trace 1\n# workload w\n# fingerprint 00\n# vertices 3\n# memory 3\n# rules hk\n"
     "# strategy\nL 0\n# end 1\n", "belongs to another graph"),
    ("L 0\n# end 2", "counts 2 moves"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), PASTED)
def test_bad_traces_are_explained_and_the_game_kept(player, text, words):
    player.open("first-steps")
    player.move(0, 0)
    player.browser.execute_script(
        "document.getElementById('trace-panel').open = true;"
        "document.getElementById('trace').value = arguments[0]",
        text,
    )
    player.click("watch-trace")
    assert words in player.text("trace-error")
    if player["stop"].is_displayed():
        player.click("stop")
    assert player.text("io-count") == "1"


def test_a_pasted_trace_is_watched(player):
    player.open("first-steps")
    player.browser.execute_script("document.getElementById('trace-panel').open = true")
    player["trace"].send_keys("L x\nL y\nC z\nS z")
    player.click("watch-trace")
    player.click("last")
    assert (player.text("io-count"), player.text("trace-error")) == ("3", "")


@pytest.mark.parametrize("name", ["first-steps", "flash", "small-cache"])
def test_a_small_screen(player, name):
    player.open(name, size=(360, 640))
    wide = player.browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= 360
    for kind in range(4):
        button = player.browser.find_element("css selector", f'#verbs [data-kind="{kind}"]')
        assert button.rect["height"] >= 40
    hit = player.vertex(0).find_element("css selector", ".hit").rect
    assert min(hit["width"], hit["height"]) >= 40
    player.browser.execute_script(
        "arguments[0].scrollIntoView({block: 'center', inline: 'center'})", player.vertex(0)
    )
    player.move(0, 0)
    assert player.text("io-count") == "1"


def test_the_page_asks_for_nothing(browser, player):
    player.open("first-steps")
    script = "return performance.getEntriesByType('resource').map((e) => e.name)"
    assert [name for name in browser.execute_script(script) if name.startswith("http")] == []


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_par_is_the_optimum(player, level):
    # The adviser's search is exhaustive: with no limit, what it finds is the least.
    if player.browser.current_url.split("#")[0] != player.file.as_uri():
        player.open(level.name)
    found = player.browser.execute_script(
        """const level = JSON.parse(document.getElementById("data").textContent)
             .levels.find(({name}) => name === arguments[0]);
           const game = new Rules.Game(new Rules.Dag(level.dag), level.memory, level.rules);
           const best = Advisor.solve(game, {most: 1e6});
           best.refused = best.moves.map((move) => game.push(move)).filter((r) => r !== null);
           return {...best, moves: best.moves.length, io: game.io, finished: game.finished};""",
        level.name,
    )
    assert (found["cost"], found["io"], found["refused"]) == (level.par, level.par, [])
    assert found["finished"]
