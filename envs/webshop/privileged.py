"""The privileged expert: a plan that ends in a purchase worth 1.0, made by someone who knows the target."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product as combinations

from envrl.envs.errors import NoExpert
from envrl.envs.webshop.goals import Goal
from envrl.envs.webshop.pages import State
from envrl.envs.webshop.product import Product
from envrl.envs.webshop.reward import count_options
from envrl.envs.webshop.shop import BUY, HITS_PER_PAGE, NEXT, PREVIOUS, Shop

#: (ASIN, chosen option values) -> the reward of buying that
Worth = Callable[[str, Sequence[str]], float]
_PRICE = ", and price lower than "


def remaining_plan(shop: Shop, state: State, goal: Goal, worth: Worth) -> list[str]:
    """Actions from ``state`` to a purchase of the target that is worth 1.0.

    Raises:
        NoExpert: the episode has ended, search does not find the target, or no choice of its options
            is worth 1.0.
    """
    if state.page == "done":
        raise NoExpert(f"the episode has ended with a purchase worth {state.reward}")
    asin = goal.product.asin
    values = winning_values(shop, goal, worth)
    plan: list[str] = []
    if state.asin == asin and state.page in ("item", "sub"):
        if state.page == "sub":
            plan.append(_click(PREVIOUS))
        chosen = dict(state.options)
        labels = shop.item(asin).labels
        plan += [_click(value) for value in values if chosen.get(labels[value]) != value]
        # what else is chosen does no harm: the reward counts what is wanted and there
    else:
        plan += _way_to(shop, state, goal.product, goal)
        plan += map(_click, values)
    return [*plan, _click(BUY)]


def winning_values(shop: Shop, goal: Goal, worth: Worth) -> tuple[str, ...]:
    """Option values of the target to click so that its purchase is worth 1.0.

    Mostly they are the wanted ones. In the original's matching a value such as ``2005black`` does not match
    itself (the bought one is cut to its colour, the wanted one is not): then others are tried.

    Raises:
        NoExpert: there are none.
    """
    item = shop.item(goal.product.asin)
    held = {value: name for value, name in item.labels.items() if name and item.can_be_chosen(value)}
    wanted = [option if isinstance(option, str) else option[1] for option in goal.options]
    exact = tuple(dict.fromkeys(value for value in wanted if value in held))
    if len({held[value] for value in exact}) == len(exact) and worth(goal.product.asin, exact) == 1.0:
        return exact
    for values in _choices(goal, held):
        if worth(goal.product.asin, values) == 1.0:
            return values
    raise NoExpert(
        f"no purchase of {goal.product.asin} is worth 1.0: by the original's rules no value of its options "
        f"matches one of {goal.options}"
    )


def _choices(goal: Goal, held: dict[str, str]) -> Iterator[tuple[str, ...]]:
    """Choices of at most one value an option, of those that match something wanted and differ in what."""
    useful: dict[str, dict[tuple[bool, ...], str | None]] = {name: {} for name in held.values()}
    for value, name in held.items():
        matches = tuple(count_options((value,), (option,)) > 0 for option in goal.options)
        if any(matches):
            useful[name].setdefault(matches, value)
    for values in combinations(*([None, *by_match.values()] for by_match in useful.values())):
        yield tuple(value for value in values if value is not None)


def _way_to(shop: Shop, state: State, target: Product, goal: Goal) -> list[str]:
    """Actions from anywhere but the target's own pages to its page, with no option chosen."""
    click = target.asin.lower()
    if state.page == "results" and shop.results(state.query, state.number).labels.get(click) == target.asin:
        return [_click(target.asin)]
    query, rank = best_query(shop, target, goal)
    pages = rank // HITS_PER_PAGE
    return [f"search[{query}]", *[_click(NEXT)] * pages, _click(target.asin)]


def best_query(shop: Shop, target: Product, goal: Goal) -> tuple[str, int]:
    """A query that finds the target and its place among the results, from 0.

    The first of these that has it on the first page, else the best: the kind of thing with the wanted
    attributes, the instruction, the title.

    Raises:
        NoExpert: none of them finds it.
    """
    found: list[tuple[int, str]] = []
    told = goal.instruction.rpartition(_PRICE)[0] or goal.instruction
    for text in (" ".join((target.query, *goal.attributes)), told, target.title):
        # one line without closing brackets, so that it can be said as an action
        query = " ".join(text.replace("[", " ").replace("]", " ").lower().split())
        hits = shop.found(query)[:50] if query else ()
        if target.asin in hits:
            rank = hits.index(target.asin)
            if rank < HITS_PER_PAGE:
                return query, rank
            found.append((rank, query))
    if not found:
        raise NoExpert(f"search does not find {target.asin} by the instruction or its title")
    rank, query = min(found)
    return query, rank


def _click(label: str) -> str:
    return f"click[{label.lower()}]"
