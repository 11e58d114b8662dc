"""`WebShopEnv`: shopping on a simulated web shop, the Gymnasium face of the pages."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from gymnasium.error import ResetNeeded

from envrl.envs.core import ActionStatus, StepResult, TextEnv
from envrl.envs.errors import InvalidTask
from envrl.envs.webshop import rendering
from envrl.envs.webshop.describe import describe
from envrl.envs.webshop.experts import imitable_action, remaining_plan
from envrl.envs.webshop.explain import why_not
from envrl.envs.webshop.goals import KINDS, Goal, GoalKind
from envrl.envs.webshop.opening import load_shop
from envrl.envs.webshop.pages import State, advance, classify, clickables, state_key
from envrl.envs.webshop.reward import Purchase, score
from envrl.envs.webshop.search import RESULTS
from envrl.envs.webshop.splits import SPLITS, goal_index
from envrl.envs.webshop.webpage import html

OBSERVATION_MODES = ("text", "text_rich", "html", "url")
#: default of the longest observation: pages of the official products stay below
_LONGEST = {"text": 32_768, "text_rich": 32_768, "html": 65_536, "url": 8192}
_SEARCH_BAR = ("search[<query>]",)


class WebShopEnv(TextEnv):
    """Find and buy what an instruction asks for.

    Actions are ``search[words]`` and ``click[label]``. The reward, from 0 to 1, comes with the purchase and
    says how well the product, its options and its price fit; success is 1.0. The registered id limits an
    episode to 15 steps.

    Besides the contract's keys, ``info`` holds ``reward_parts`` after a purchase: r_type, r_att, r_option,
    r_price, w_att, w_option, w_price, query_match, category_match, title_score.

    Args:
        catalog: ``synthetic`` generates products (no download); ``official-1k`` and ``official`` read
            ``$WEBSHOP_DATA``; any other value is the path of a folder with the official files.
        observation_mode: ``text``, ``text_rich``, ``html`` or ``url``.
        split: ``train``, ``eval`` or ``test`` by position, as the original's authors have it;
            ``train_by_product`` or ``test_by_product``, which share no product.
        goals: ``synthetic``, or ``human`` for instructions by people.
        seed: of the synthetic catalogue, and of prices and price limits.
        num_products: how many products to generate, or how many entries of the file to use at most.
        feedback: ``classic`` shows the same page again after an action that does nothing; ``explain`` says
            why above it.
        show_attrs: whether products have a page of attributes, which no recorded page has.
        render_mode: ``ansi`` for the latest observation, ``html`` for the page as HTML, or None.

    >>> import gymnasium, envrl
    >>> env = gymnasium.make("EnvRL/WebShop-v0")
    >>> observation, info = env.reset(seed=0)
    >>> observation.startswith("WebShop [SEP] Instruction: [SEP] ")
    True
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "html"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        catalog: str = "synthetic",
        observation_mode: Literal["text", "text_rich", "html", "url"] = "text",
        split: str = "train",
        goals: Literal["synthetic", "human"] = "synthetic",
        seed: int = 0,
        num_products: int | None = None,
        feedback: Literal["classic", "explain"] = "classic",
        show_attrs: bool = False,
        render_mode: str | None = None,
        **lengths: int,
    ) -> None:
        _expect("observation_mode", observation_mode, OBSERVATION_MODES)
        _expect("split", split, SPLITS)
        _expect("goals", goals, KINDS)
        _expect("feedback", feedback, ("classic", "explain"))
        lengths.setdefault("max_observation_length", _LONGEST[observation_mode])
        super().__init__(render_mode=render_mode, **lengths)
        self.split = split  # recordings name it
        self._mode, self._kind, self._seed = observation_mode, cast(GoalKind, goals), seed
        self._explain = feedback == "explain"
        self._shop = load_shop(str(catalog), num_products, seed, show_attrs)
        self._goals = self._shop.catalog.goals(self._kind, seed)
        self._ids = self._shop.catalog.task_ids(split, self._kind, seed)
        self._goal: Goal | None = None
        self._state = State()
        self._notice = ""  # why the latest action did nothing

    # ---- the contract ----------------------------------------------------------------------------------

    def task_ids(self) -> Sequence[str]:
        """Ids ``<goals>/<index>`` of the split, in the original's shuffled order (lazy)."""
        return self._ids

    def task_type(self, task_id: str) -> str:
        """The department of the task's product: beauty, electronics, fashion, garden or grocery."""
        return self._goals[goal_index(task_id, len(self._goals), self._kind)].product.category

    def describe_state(self) -> str:
        """The hidden state in words: the target, the page, and what lies behind its links."""
        asins = {self._shopping_for.product.asin, self._state.asin} - {""}
        prices = {asin: self._price(asin) for asin in asins}
        return describe(self._shop, self._state, self._shopping_for, prices)

    def classify_action(self, text: str) -> tuple[ActionStatus, str]:
        """(status, answer) of an action without stepping; after the end nothing is possible any more."""
        if self._terminated:
            return "inadmissible", self._observation
        status, move = classify(self._shop, self._state, text)
        if status == "ok":
            return status, ""
        notice = why_not(self._shop, self._state, text, move) if self._explain else ""
        return status, self._page(notice)

    def expert_actions(self, privileged: bool = True) -> list[str]:
        """The rest of a plan worth 1.0, [] after such a purchase.

        With ``privileged=False`` only the next action, of an expert that knows no more than the pages show.

        Raises:
            NoExpert: no purchase of the target is worth 1.0, search does not find it, or the episode ended
                otherwise.
        """
        goal = self._shopping_for
        if self._succeeded:
            return []
        if not privileged:
            return [imitable_action(self._shop, self._state, goal.instruction)]
        return remaining_plan(self._shop, self._state, goal, self._worth)

    def render(self) -> str | None:
        """The page as HTML when ``render_mode="html"``, whatever the observation mode; else as `TextEnv`."""
        if self.render_mode == "html" and self._goal is not None:
            # the observation has what a snapshot does not know: why the latest action did nothing
            return self._observation if self._mode == "html" and not self._text_cut else self.webpage()
        return super().render()

    # ---- beyond the contract ---------------------------------------------------------------------------

    def available_actions(self) -> dict[str, Any]:
        """``{"has_search_bar", "clickables"}`` of the present page, as the original gives them."""
        return {
            "has_search_bar": self._state.page == "index",
            "clickables": list(clickables(self._shop, self._state)),
        }

    def search(self, query: str) -> list[str]:
        """ASINs that a query finds, best first, at most 50."""
        return list(self._shop.found(query.lower())[:RESULTS])

    def score_purchase(
        self,
        goal_index: int,
        asin: str,
        options: Mapping[str, str] | Iterable[str] = (),
        price: float | None = None,
    ) -> tuple[float, dict[str, Any]]:
        """The reward of a purchase and its parts, for any goal and product.

        Args:
            goal_index: the goal, in the order of task ids.
            asin: the product bought.
            options: the option values chosen, by name or without.
            price: in dollars; None for the catalogue's.

        Raises:
            InvalidTask: there is no such goal.
            KeyError: there is no such product.
            TypeError: the options are one text.
        """
        if isinstance(options, str):
            raise TypeError(f"expected options as a mapping or a list of values, got the text {options!r}")
        if not 0 <= goal_index < len(self._goals):
            raise InvalidTask(f"expected a goal from 0 to {len(self._goals) - 1}, got {goal_index}")
        values = options.values() if isinstance(options, Mapping) else options
        return self._score(self._goals[goal_index], asin, tuple(values), price)

    def webpage(self, notice: str = "") -> str:
        """The present page as an HTML document, with a message above it.

        Args:
            notice: the message; why the latest action did nothing follows it, with ``feedback="explain"``.
        """
        told = " ".join(text for text in (notice, self._notice) if text)
        return html(self._shop, self._state, self._shopping_for.instruction, told)

    # ---- hooks of the contract -------------------------------------------------------------------------

    def _start(self, task_id: str, options: dict[str, Any]) -> str:
        self._goal = self._goals[goal_index(task_id, len(self._goals), self._kind)]
        self._state, self._notice = State(), ""
        return self._page()

    def _act(self, action: str) -> StepResult:
        status, move = classify(self._shop, self._state, action)
        if status != "ok" or move is None:
            self._notice = why_not(self._shop, self._state, action, move) if self._explain else ""
            return StepResult(self._page(self._notice), status=status)
        self._notice = ""
        state = advance(self._shop, self._state, move)
        if state.page != "done":
            self._state = state
            return StepResult(self._page())
        reward, parts = self._score(
            self._shopping_for, state.asin, tuple(value for _, value in state.options)
        )
        self._state = state._replace(reward=reward)
        return StepResult(self._page(), reward, True, extra={"reward_parts": parts})

    def _info_fields(self) -> tuple[str, tuple[str, ...], tuple[str, ...], bool, str]:
        goal, state = self._shopping_for, self._state
        match state.page:
            case "results":
                admissible = self._shop.results(state.query, state.number).admissible
            case "item":
                admissible = self._shop.item(state.asin).admissible
            case "sub":
                admissible = self._shop.sub_page_clicks
            case _:
                admissible = ()
        templates = _SEARCH_BAR if state.page == "index" else ()
        success = state.page == "done" and state.reward == 1.0
        return (
            goal.instruction,
            admissible,
            templates,
            success,
            state_key(f"{self._kind}/{goal.index}", state),
        )

    def _get_hidden(self) -> State:
        return self._state

    def _set_hidden(self, task_id: str, hidden: State) -> None:
        self._goal = self._goals[goal_index(task_id, len(self._goals), self._kind)]
        self._state, self._notice = hidden, ""

    # ---- inside ----------------------------------------------------------------------------------------

    @property
    def _shopping_for(self) -> Goal:
        if self._goal is None:
            raise ResetNeeded("there is no episode yet; call env.reset() first")
        return self._goal

    @property
    def _succeeded(self) -> bool:
        return self._state.page == "done" and self._state.reward == 1.0

    def _page(self, notice: str = "") -> str:
        goal = self._shopping_for
        match self._mode:
            case "html":
                return html(self._shop, self._state, goal.instruction, notice)
            case "text":
                text, separator = rendering.text(self._shop, self._state, goal.instruction), " [SEP] "
            case "text_rich":
                text = rendering.text_rich(self._shop, self._state, goal.instruction, goal.index)
                separator = "\n"
            case _:
                text, separator = rendering.url(self._state, goal.index), "\n"
        return f"{notice}{separator}{text}" if notice else text

    def _price(self, asin: str) -> float:
        return float(self._goals.arrays.prices[self._shop.catalog.columns.row(asin)])

    def _worth(self, asin: str, options: Sequence[str]) -> float:
        return self._score(self._shopping_for, asin, options)[0]

    def _score(
        self, goal: Goal, asin: str, options: Sequence[str], price: float | None = None
    ) -> tuple[float, dict[str, Any]]:
        catalog = self._shop.catalog
        product = catalog.product(asin)
        paid = self._price(asin) if price is None else price
        bought = Purchase(product, options, paid, catalog.nouns(product))
        return score(bought, goal, catalog.nouns(goal.product))


def _expect(name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {list(allowed)}, got {value!r}")
