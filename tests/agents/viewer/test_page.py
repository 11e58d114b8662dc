"""The page in a real browser, offline: what it shows, what it filters, what the keys do."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import chromium

from envrl.agents.viewer.page import page

HOSTILE = "</script><img src=x onerror='window.broken = 1'><!-- &lt; \ud83d"
UPDATES = 12


def turn(action: str, observation: str, **more: Any) -> dict[str, Any]:
    return {
        "action": action,
        "status": "ok",
        "reward": 0.0,
        "observation": observation,
        "fault": None,
        **more,
    }


def seen(taken: str, share: float, prediction: list[list[str]], **more: Any) -> dict[str, Any]:
    """What the model says of a turn: two actions, and the segments of its prediction."""
    choices = sorted([[taken, share], ["look around", 1 - share]], key=lambda choice: -choice[1])
    rank = 1 + [action for action, _ in choices].index(taken)
    return {
        "probability": share, "rank": rank, "offered": 2, "choices": choices, "surprise": 0.25,
        "prediction": prediction, **more,
    }  # fmt: skip


def episode(name: str, outcome: str, goal: str, kind: str, turns: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": name, "task": f"{kind}/{name}", "kind": kind, "goal": goal, "update": 3, "outcome": outcome,
        "fault": "the server died" if outcome == "faulted" else None, "return": 1.0 if outcome == "solved" else 0.0,
        "lambda": 0.15, "start": "You are in a room.", "turns": turns,
    }  # fmt: skip


HEAT = [
    turn("go to fridge 1", "The fridge 1 is closed.", advantage=1.5, value=0.25,
         **seen("go to fridge 1", 0.75, [["=", "The fridge 1 is "], ["-", "open"], ["+", "closed"], ["=", "."]])),
    turn("open fridge 1", "You open it.", advantage=-0.5, **seen("open fridge 1", 0.125, [["=", "You open it."]])),
    turn("xyzzy", HOSTILE, status="malformed", reward=1.0, advantage=0.0,
         **seen("xyzzy", 0.5, [["-", "a"], ["+", HOSTILE], ["~", " and more"]])),
]  # fmt: skip
EPISODES = [
    episode("1", "solved", "heat an egg", "heat_and_place", HEAT),
    episode(
        "2",
        "failed",
        "cool a mug " + HOSTILE,
        "cool_and_place",
        [turn("open fridge 2", "Nothing happens.")] * 30,
    ),
    episode(
        "3", "faulted", "find a pen", "look_in_light", [turn("go to desk 1", "", fault="the server died")]
    ),
]
METRICS = {
    "update": list(range(1, UPDATES + 1)),
    "env_steps": [100 * i for i in range(1, UPDATES + 1)],
    "wall_s": [7.5 * i for i in range(1, UPDATES + 1)],
    "train/success_rate": [i / UPDATES for i in range(1, UPDATES + 1)],
    "train/return": [None, *(float(i) for i in range(2, UPDATES + 1))],
    "eval/success_rate": [0.5 if i in (4, 8) else None for i in range(1, UPDATES + 1)],
    "loss/kl": [0.0] * UPDATES,
    "rollout/faulted": [0] * (UPDATES - 1) + [3],
    "own/number": [float(i) for i in range(UPDATES)],
}
IMITATION = {"update": [1, 2, 3, 4], "wall_s": [1.0, 2.0, 3.0, 4.0], "loss/action": [4.0, 2.0, 1.0, 0.5]}
EVALUATIONS = [
    {"stage": stage, "env_steps": steps, "wall_s": 1.0, "success_rate": rate, "low": rate - 0.1, "high": rate + 0.1,
     "n": 40, "successes": int(40 * rate), "mean_steps": 21.5, "mean_return": rate, "faulted": 1,
     "kinds": [{"kind": "heat_and_place", "won": 3, "n": 4, "low": 0.3, "high": 0.95}]}
    for stage, steps, rate in (("imitation", 50, 0.25), ("reinforcement", 1200, 0.5))
]  # fmt: skip
DATA = {
    "version": "1.2.3", "name": "runs/demo", "stage": "done", "update": UPDATES,
    "settings": {"env": "Some/Env-v0", "model": "tiny", "algorithm": "gigpo", "policy": "constrained", "seed": 7,
                 "updates": UPDATES, "env_kwargs": {"a": 1}},
    "metrics": METRICS, "imitation": IMITATION, "evaluations": EVALUATIONS, "episodes": EPISODES,
    "notes": {"recorded": 64, "model": "000017-done-0"},
}  # fmt: skip


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("browser") / "profile", "window-size=1400,1000") as driver:
        yield driver


@pytest.fixture
def shown(browser: Any, tmp_path: Path) -> Any:
    """The page of `DATA`, opened from a file; nothing may go wrong on it, and nothing may be fetched."""
    path = tmp_path / "page.html"
    path.write_text(page("a run", DATA), encoding="utf-8")
    browser.get(path.as_uri())
    yield browser
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.execute_script("return window.broken") is None


def texts(browser: Any, selector: str) -> list[str]:
    """The visible text of each element, white space as single spaces, lone surrogates replaced."""
    script = (
        "return [...document.querySelectorAll(arguments[0])].filter(e => e.checkVisibility())"
        ".map(e => e.innerText.toWellFormed())"
    )
    return [" ".join(text.split()) for text in browser.execute_script(script, selector)]


def press(browser: Any, *keys: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def test_a_page_is_one_file_that_names_no_other() -> None:
    text = page("a <b> & c", DATA)
    assert "<title>a &lt;b&gt; &amp; c</title>" in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "") and "https://" not in text
    assert "<script src" not in text and '<link rel="stylesheet' not in text and "@import" not in text
    # the text of an environment cannot end the element that it lies in
    assert text.count("</script>") == 2 and "<img" not in text
    with pytest.raises(ValueError, match="JSON"):
        page("", {"metrics": [float("nan")]})


def test_head_and_tiles(shown: Any) -> None:
    assert shown.title == "a run"
    assert texts(shown, "h1") == ["runs/demo"]
    assert texts(shown, "#subtitle") == ["Some/Env-v0 · tiny · gigpo · constrained policy · seed 7"]
    tiles = dict(zip(texts(shown, ".tile dt"), texts(shown, ".tile dd"), strict=True))
    assert tiles["Held-out success"].startswith("50.0 % 40.0 % to 60.0 %")
    assert tiles["Updates"].startswith("12 of 12") and tiles["Faulted episodes"].startswith("3")
    assert tiles["Environment steps"].startswith("1200")


def test_curves_show_values_under_the_pointer(shown: Any) -> None:
    titles = texts(shown, ".chart figcaption b")
    assert titles[:2] == ["Success", "Return"] and "own · number" in titles
    assert "Divergence from the reference" not in titles  # 0 throughout
    values = texts(shown, "#curves .chart:first-child .value")
    assert values == ["training 100.0 %", "held out 50.0 %"]
    from selenium.webdriver.common.action_chains import ActionChains

    chart = shown.find_element("css selector", ".chart svg")
    # the plot begins 40 pixels from the left (update 0, where the first evaluation stands) and ends 10 from the right
    width = chart.rect["width"]
    at = 40 + (width - 50) * 3 / 12 - width / 2
    ActionChains(shown).move_to_element_with_offset(chart, round(at), 0).perform()
    assert shown.execute_script("return document.getElementById('curves').dataset.hover") == "3"
    assert texts(shown, "#curves .chart:first-child .value")[0] == "training 25.0 %"
    assert texts(shown, "#curves .chart:nth-child(2) .value") == [
        "mean 3"
    ]  # one crosshair through all charts
    chart.click()
    press(shown, "\ue014", "\ue014")  # right
    assert texts(shown, "#curves .chart:nth-child(2) .value")[0] == f"mean {nearest(shown)}"
    assert nearest(shown) > 5


def test_the_supervised_stage_has_curves_of_its_own(shown: Any) -> None:
    assert texts(shown, "#imitation .chart figcaption b") == [
        "Actions"
    ]  # objectives that are off draw nothing
    assert texts(shown, "#imitation .value") == ["loss a token 0.5"]
    from selenium.webdriver.common.action_chains import ActionChains

    chart = shown.find_element("css selector", "#imitation .chart svg")
    ActionChains(shown).move_to_element_with_offset(chart, 41 - chart.rect["width"] // 2, 0).perform()
    assert texts(shown, "#imitation .value") == ["loss a token 4"]
    assert texts(shown, "#curves .chart:first-child .value")[0] == "training 100.0 %"  # has another x axis
    shown.find_element("css selector", "#imitation .segments [data-value=wall_s]").click()
    assert "4 s" in shown.execute_script("return document.querySelector('#imitation .chart svg').textContent")


def nearest(browser: Any) -> int:
    return int(browser.execute_script("return document.getElementById('curves').dataset.hover"))


def test_curves_are_drawn_where_the_numbers_are(shown: Any) -> None:
    shown.execute_script("document.getElementById('smooth').click()")
    box = shown.execute_script(
        "const b = document.querySelector('.chart svg'); return [b.clientWidth, b.clientHeight]"
    )
    path = shown.execute_script(
        "return document.querySelector('.chart [data-series=\"train/success_rate\"] path').getAttribute('d')"
    )
    points = [tuple(map(float, p.split())) for p in path[1:].split("L")]
    assert len(points) == UPDATES
    left, right, top, bottom = 40, box[0] - 10, 8, box[1] - 20
    for i, (x, y) in enumerate(points, 1):
        assert x == pytest.approx(left + (right - left) * i / UPDATES, abs=0.2)
        assert y == pytest.approx(bottom - (bottom - top) * i / UPDATES, abs=0.2)
    # two sparse points and two evaluations with whiskers
    assert (
        len(
            shown.find_elements("css selector", ".chart:first-child [data-series='eval/success_rate'] circle")
        )
        == 2
    )
    assert len(shown.find_elements("css selector", ".chart:first-child .whisker")) == 2
    # over environment steps the first evaluation stands before the first update
    shown.find_element("css selector", "#x-axis [data-value=env_steps]").click()
    assert (
        shown.execute_script("return document.querySelector('.chart [data-series] path').getAttribute('d')")
        != path
    )


def test_evaluations_have_intervals_and_kinds(shown: Any) -> None:
    assert texts(shown, ".evaluation .stage") == ["imitation", "reinforcement"]
    assert "40.0 % to 60.0 % · 40 episodes, 21.5 steps, 1 faulted" in texts(shown, ".evaluation")[1]
    assert shown.execute_script("return document.querySelectorAll('.track b')[1].style.left") == "50%"
    assert shown.execute_script("return document.querySelectorAll('.track i')[1].style.width") == "20%"
    assert texts(shown, "#evaluation-kinds tbody tr") == ["heat and place 4 75 % 75 %"]


def test_an_episode_turn_by_turn(shown: Any) -> None:
    assert texts(shown, "#episode h3") == ["heat an egg"]
    facts = texts(shown, "#episode .facts")[0]
    for fact in (
        "kind heat and place",
        "update 3",
        "λ 0.15",
        "steps 3",
        "return 1",
        "replies foreseen 1 of 3",
    ):
        assert fact in facts
    first, second, third = texts(shown, ".turn")
    assert "go to fridge 1" in first and "75.0 %" in first and "1 of 2" in first
    assert "A +1.50" in first and "V +0.25" in first and "0.25 nats a token" in first
    assert texts(shown, "#turn-1 .predicted .prose") == ["The fridge 1 is open."]
    assert texts(shown, "#turn-1 .real .prose") == ["The fridge 1 is closed."]
    assert texts(shown, "#turn-1 mark.wrong") == ["open"]
    assert texts(shown, "#turn-1 mark.missed") == ["closed"]
    assert "foreseen word by word" in second and "A −0.50" in second and "12.5 %" in second
    assert "malformed" in third and "reward 1" in third
    assert texts(shown, "#turn-3 .real .prose") == [HOSTILE.replace("\ud83d", "\ufffd") + " and more"]
    # bars of advantages: the first up, the second down by a third of it
    bars = shown.execute_script(
        "return [...document.querySelectorAll('.strip i')].map(i => [i.className, i.style.height])"
    )
    assert bars[0] == ["up", "50%"] and bars[1][0] == "down" and bars[1][1].startswith("16.66")


def test_other_actions_unfold(shown: Any) -> None:
    assert texts(shown, ".choices") == []
    shown.find_element("css selector", ".turn .chance").click()
    assert texts(shown, ".choices") == ["75.0 % go to fridge 1 25.0 % look around"]
    press(shown, "a")
    assert len(texts(shown, ".choices")) == 3
    assert "87.5 %" in texts(shown, ".choices")[1]
    press(shown, "a")
    assert texts(shown, ".choices") == []


def test_episodes_are_filtered(shown: Any) -> None:
    goals = lambda: texts(shown, "#episode-list .goal")  # noqa: E731
    assert goals() == ["heat an egg", EPISODES[1]["goal"].replace("\ud83d", "\ufffd"), "find a pen"]
    shown.find_element("css selector", "#outcome [data-value=faulted]").click()
    assert goals() == ["find a pen"] and texts(shown, "#episode h3") == ["find a pen"]
    assert "fault: the server died" in texts(shown, "#episode")[0]
    shown.find_element("css selector", "#outcome [data-value=all]").click()
    from selenium.webdriver.support.ui import Select

    Select(shown.find_element("id", "kind")).select_by_value("heat_and_place")
    assert goals() == ["heat an egg"] and texts(shown, "#count") == ["1 episode"]
    Select(shown.find_element("id", "kind")).select_by_value("")
    shown.find_element("id", "search").send_keys("FRIDGE 2")
    assert len(goals()) == 1 and "cool a mug" in goals()[0]
    shown.find_element("id", "search").send_keys(" nowhere")
    assert goals() == [] and "No episode matches." in texts(shown, "#episode")[0]


def test_keys(shown: Any) -> None:
    chosen = lambda: shown.execute_script("return document.querySelector('.turn[aria-current]')?.id")  # noqa: E731
    goal = lambda: texts(shown, "#episode h3")[0]  # noqa: E731
    assert chosen() is None
    press(shown, "j", "j")
    assert chosen() == "turn-2"
    press(shown, "k", "k", "k")
    assert chosen() == "turn-1"
    press(shown, "n")
    assert goal().startswith("cool a mug") and chosen() is None
    press(shown, *"j" * 30)
    assert chosen() == "turn-30"
    box = shown.find_element("id", "turn-30").rect
    top = shown.execute_script("return scrollY")
    assert top < box["y"] < top + shown.execute_script("return innerHeight")
    press(shown, "j", "p")
    assert goal() == "heat an egg"
    press(shown, "f", "f")
    assert goal().startswith("cool a mug")  # failed ones
    press(shown, "f", "f")
    press(shown, "/", "p", "e", "n")  # typed, not taken for a key
    assert goal() == "find a pen" and shown.find_element("id", "search").get_attribute("value") == "pen"
    press(shown, "\ue00c")  # Escape leaves the field
    theme = shown.execute_script("return getComputedStyle(document.body).backgroundColor")
    press(shown, "t")
    assert shown.execute_script("return getComputedStyle(document.body).backgroundColor") != theme
    press(shown, "?")
    assert shown.find_element("id", "help").is_displayed()
    press(shown, "\ue00c")
    assert not shown.find_element("id", "help").is_displayed()


def test_a_run_without_anything_yet(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "empty.html"
    empty = {
        **DATA,
        "metrics": {},
        "imitation": {},
        "evaluations": [],
        "episodes": [],
        "notes": {"recorded": 0},
        "update": 0,
    }
    path.write_text(page("empty", empty), encoding="utf-8")
    browser.get(path.as_uri())
    assert browser.get_log("browser") == []
    assert "No updates yet" in texts(browser, "#charts")[0]
    assert not browser.find_element("id", "imitation").is_displayed()
    assert "not evaluated" in texts(browser, "#evaluation-rows")[0]
    assert "No recorded episodes." in texts(browser, "#episode")[0]


def test_the_page_fits_a_small_screen(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page("a run", DATA), encoding="utf-8")
    browser.set_window_size(500, 900)
    try:
        browser.get(path.as_uri())
        wide = browser.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide <= 0
    finally:
        browser.set_window_size(1400, 1000)


def test_the_embedded_data_is_what_was_given() -> None:
    text = page("a run", DATA)
    start = text.index('type="application/json">') + len('type="application/json">')
    assert json.loads(text[start : text.index("</script>", start)]) == DATA
