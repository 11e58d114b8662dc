"""`envrl play --browser`: the server, and a person in a real browser."""

import contextlib
import http.client
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import html5lib
import pytest
from chromium import chromium

from envrl.envs.lookup import make_env
from envrl.play.browser import BrowserGame
from envrl.play.session import Session
from envrl.wrappers import Transition, iter_episodes

WEBSHOP: dict[str, Any] = {"num_products": 100, "split": "test"}


@contextlib.contextmanager
def served(
    env: str = "webshop", limit: int | None = 15, **kwargs: Any
) -> Iterator[tuple[BrowserGame, list[list[str]]]]:
    """A game that is served from a thread, and the actions of each game that was handed over."""
    session = Session(make_env(env, kwargs, max_episode_steps=-1), limit=limit)
    session.begin(seed=0)
    games: list[list[str]] = []
    game = BrowserGame(session, on_game_end=lambda: games.append([turn.action for turn in session.turns]))
    thread = threading.Thread(target=game.loop)
    thread.start()
    try:
        yield game, games
    finally:
        game.stop()
        thread.join(30)
        session.env.close()


def get(
    game: BrowserGame, query: str = "", path: str | None = None, host: str | None = None
) -> tuple[int, str, str]:
    """(status, where to, body) of a request."""
    address = urlsplit(game.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    headers = {} if host is None else {"Host": host}
    connection.request("GET", (address.path if path is None else path) + query, headers=headers)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, response.headers.get("Location", ""), body


def act(game: BrowserGame, action: str) -> str:
    """The page after an action."""
    status, where, _ = get(game, "?action=" + quote(action))
    assert status == 303
    return get(game, path=where)[2]


def test_a_game_is_played_by_addresses_and_handed_over_once() -> None:
    with served(**WEBSHOP) as (game, games):
        page = get(game)[2]
        html5lib.HTMLParser(strict=True).parse(page)
        assert 'id="search_input"' in page and "step 0/15" in page
        plan = game.session.inner.expert_actions()
        for action in plan:
            page = act(game, action)
            html5lib.HTMLParser(strict=True).parse(page)
        assert f"Solved in {len(plan)} steps, score 1." in page and "Your score (min 0.0, max 1.0)" in page
        assert "The game is over" in act(game, "search[more]")
        assert games == []  # it may still be taken back
        get(game, "?command=new")
        assert games == [plan] and "step 0/15" in get(game)[2]
    assert games == [plan]


def test_undo_hint_restart_and_notices_that_are_shown_once() -> None:
    with served(**WEBSHOP) as (game, games):
        task = game.session.info["task_id"]
        assert "&#x27;click[nothing]&#x27; does nothing here (inadmissible)." in act(game, "click[nothing]")
        assert "does nothing here" not in get(game)[2]
        get(game, "?command=undo")
        assert "Taken back." in get(game)[2] and game.session.turns == []
        get(game, "?command=hint")
        assert "The expert would do: search[" in get(game)[2]
        act(game, "search[gift]")
        get(game, "?command=restart")
        assert games == [["search[gift]"]] and game.session.info["task_id"] == task
        assert "step 0/15" in get(game)[2]
    assert games == [["search[gift]"]]


def test_why_an_action_did_nothing_is_told_where_the_environment_explains() -> None:
    with served(**WEBSHOP, feedback="explain") as (game, _):
        page = act(game, "click[nothing]")
        assert "does nothing here (inadmissible). There is no" in page and "only a search bar" in page
        assert "only a search bar" not in act(game, "search[gift]")


def test_only_the_player_gets_in() -> None:
    with served(**WEBSHOP) as (game, _):
        port = urlsplit(game.url).port
        for path, host in (
            ("/", None),
            ("/?action=search[a]", None),
            (urlsplit(game.url).path + "x", None),
            (urlsplit(game.url).path, f"evil.example:{port}"),
            (urlsplit(game.url).path, "127.0.0.1"),
        ):
            assert get(game, "?action=search[a]", path=path.partition("?")[0], host=host)[0] == 404
        assert game.session.turns == []
        assert get(game, host=f"localhost:{port}")[0] == 200


def test_a_browser_that_hangs_up_and_an_address_that_is_none_are_no_news(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with served(**WEBSHOP) as (game, _):
        address = urlsplit(game.url)
        request = f"GET {address.path} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n"
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", address.port)) as line:
                # closed at once, with a reset
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                line.sendall(request.encode())
        with socket.create_connection(("127.0.0.1", address.port), timeout=30) as line:
            line.sendall(b"GET http://[ HTTP/1.1\r\n\r\n")
            assert line.recv(100).startswith(b"HTTP/1.1 404 ")
        assert get(game)[0] == 200
    assert "Traceback" not in capfd.readouterr().err


def test_an_environment_without_pages_of_its_own_is_shown_as_text() -> None:
    with served("alfworld", limit=50) as (game, games):
        page = get(game)[2]
        html5lib.HTMLParser(strict=True).parse(page)
        assert "-= Welcome to TextWorld, ALFRED! =-" in page
        action = game.session.info["admissible_actions"][0]
        assert f'value="{action}"' in page
        assert "step 1/50" in act(game, action)
    assert games == [[action]]


# ---- a person in a browser -------------------------------------------------------------------------------------


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Any]:
    """Headless Chromium."""
    # the game lies on loopback; nothing else may be asked for
    with chromium(tmp_path / "profile", "proxy-bypass-list=127.0.0.1;localhost") as browser:
        yield browser


@contextlib.contextmanager
def command(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`envrl play webshop --browser` and its address."""
    words = [sys.executable, "-m", "envrl", "play", "webshop", "--browser", *options]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("Play at http://127.0.0.1:"), line
        yield process, line.split()[2]
    finally:
        process.kill()
        process.wait()


def episodes(folder: Path) -> list[list[Transition]]:
    return list(iter_episodes(folder))


def test_a_person_shops_in_a_browser_and_the_game_is_recorded(driver: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.expected_conditions import staleness_of
    from selenium.webdriver.support.ui import WebDriverWait

    env = make_env("webshop", WEBSHOP, max_episode_steps=-1).unwrapped
    task = next(
        goal for goal in env._goals if len(goal.options) == 2 and len({v for _, v in goal.options}) == 2
    )
    env.reset(options={"task_id": f"synthetic/{task.index}"})
    search, *clicks, buy = env.expert_actions()
    folder = tmp_path / "games"
    kwargs = ["--env-kwargs", *(f"{name}={value}" for name, value in WEBSHOP.items())]
    with command("--task-id", f"synthetic/{task.index}", "--record", str(folder), *kwargs) as (process, url):

        def follow(element: Any) -> None:
            """Click, and wait until the next page is there."""
            element.click()
            WebDriverWait(driver, 30).until(staleness_of(element))

        def step() -> str:
            return str(driver.find_element(By.ID, "progress").text)

        driver.get(url)
        assert task.instruction in driver.find_element(By.TAG_NAME, "main").text
        box = driver.find_element(By.ID, "search_input")
        box.send_keys(search.removeprefix("search[").removesuffix("]") + "\n")
        WebDriverWait(driver, 30).until(staleness_of(box))
        assert step() == "step 1/15" and "Total results: " in driver.page_source
        for click in clicks:
            label = click.removeprefix("click[").removesuffix("]")
            links = [
                e for e in driver.find_elements(By.CLASS_NAME, "product-link") if e.text.lower() == label
            ]
            buttons = [e for e in driver.find_elements(By.CLASS_NAME, "btn") if e.text.lower() == label]
            options = [e for e in driver.find_elements(By.TAG_NAME, "label") if e.text == label]
            follow((links or buttons or options)[-1])
        chosen = [e.get_attribute("value") for e in driver.find_elements(By.CSS_SELECTOR, "input:checked")]
        assert sorted(chosen) == sorted(value for _, value in task.options)
        follow(next(e for e in driver.find_elements(By.CLASS_NAME, "btn") if e.text == "Buy Now"))
        assert driver.find_element(By.ID, "reward").text.split()[-1] == "1.0"
        assert driver.find_element(By.ID, "outcome").text == f"Solved in {len(clicks) + 2} steps, score 1."
        driver.find_element(By.ID, "quit").click()
        assert process.wait(30) == 0
    # the same transitions as those of a policy that does the same
    ((*rows,),) = episodes(folder)
    assert [row.action for row in rows] == [search, *clicks, buy]
    observation, info = env.reset(options={"task_id": f"synthetic/{task.index}"})
    for row in rows:
        assert (row.observation, row.admissible_actions) == (observation, tuple(info["admissible_actions"]))
        observation, reward, terminated, _, info = env.step(row.action)
        assert (row.next_observation, row.reward, row.terminated) == (observation, reward, terminated)
        assert (row.next_state_key, row.is_success) == (info["state_key"], info["is_success"])
    assert {(row.policy, row.split, row.env_id) for row in rows} == {("human", "test", "EnvRL/WebShop-v0")}


def test_any_words_can_be_searched_for_in_a_browser(driver: Any) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.expected_conditions import staleness_of
    from selenium.webdriver.support.ui import WebDriverWait

    with served(**WEBSHOP) as (game, _):
        driver.get(game.url)
        box = driver.find_element(By.ID, "search_input")
        box.send_keys('100% "gift" + [set] & ?#\n')
        WebDriverWait(driver, 30).until(staleness_of(box))
        assert "Total results: " in driver.page_source
        (turn,) = game.session.turns
        assert turn.action == 'search[100% "gift" +  set] & ?#]' and turn.next_info["action_status"] == "ok"


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_ends_it_and_keeps_the_game(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    kwargs = ["--env-kwargs", *(f"{name}={value}" for name, value in WEBSHOP.items())]
    with command("--record", str(folder), *kwargs) as (process, url):
        address = urlsplit(url)
        connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=30)
        connection.request("GET", address.path + "?action=search[gift]")
        assert connection.getresponse().status == 303
        connection.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert [[row.action for row in episode] for episode in episodes(folder)] == [["search[gift]"]]


def test_a_port_that_is_taken_is_wrong_use() -> None:
    with served(**WEBSHOP) as (game, _):
        port = str(urlsplit(game.url).port)
        words = [sys.executable, "-m", "envrl", "play", "webshop", "--browser", "--port", port]
        run = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (
        run.returncode == 2 and f"--port {port} cannot be had" in run.stderr and "Traceback" not in run.stderr
    )
