"""The hidden state in words, for simulators that predict from it."""

from envrl.envs.webshop.goals import NO_LIMIT, Goal
from envrl.envs.webshop.pages import State
from envrl.envs.webshop.product import Product
from envrl.envs.webshop.shop import HITS_PER_PAGE, Shop


def describe(shop: Shop, state: State, goal: Goal, prices: dict[str, float]) -> str:
    """Where the buyer is, what the open product and the results hold, and what is wanted, a fact a line.

    Args:
        shop: what the pages hold.
        state: where the buyer is.
        goal: the task.
        prices: what the products cost that are mentioned, by ASIN.
    """
    lines = [f"The buyer is on the {state.page} page."]
    if state.page == "done":
        lines.append(f"The reward was {state.reward}.")
    if state.query:
        found = shop.found(state.query)
        first = (state.number - 1) * HITS_PER_PAGE
        lines.append(f"The latest search was {state.query!r}, at page {state.number} of its results.")
        lines.append(f"It found {len(found)} products: {', '.join(found) or 'none'}.")
        if state.page == "results":
            for asin in found[first : first + HITS_PER_PAGE]:
                product = shop.catalog.product(asin)
                lines.append(f"{asin} on this page is {product.title!r} at {product.price_tag}.")
    if state.asin:
        chosen = ", ".join(f"{name}: {value}" for name, value in state.options) or "none"
        lines += _about(shop.catalog.product(state.asin), "The open product", prices[state.asin])
        lines.append(f"Options chosen: {chosen}.")
    if state.sub:
        lines.append(f"Its page {state.sub!r} is open.")
    if state.visited:
        lines.append(f"Products opened so far: {', '.join(state.visited)}.")
    lines += _about(goal.product, "The product that fits", prices[goal.product.asin])
    lines.append(f"Wanted attributes: {', '.join(goal.attributes)}.")
    options = ", ".join(option if isinstance(option, str) else ": ".join(option) for option in goal.options)
    lines.append(f"Wanted options: {options or 'none'}.")
    limit = "none" if goal.price_upper == NO_LIMIT else f"{goal.price_upper:.2f} dollars"
    lines.append(f"Price limit: {limit}.")
    return "\n".join(lines)


def _about(product: Product, role: str, price: float) -> list[str]:
    lines = [
        f"{role} is {product.asin}, {product.title!r}; it costs {price:.2f} dollars, shown as {product.price_tag}.",
        f"It was found under {product.query!r} in {product.product_category!r}.",
        f"Its attributes: {', '.join(product.attributes) or 'none'}.",
    ]
    lines += [f"Its option {name!r}: {', '.join(values)}." for name, values in product.options.items()]
    if product.description:
        lines.append(f"Its description: {product.description}")
    return lines + [f"Its feature: {bullet.strip()}" for bullet in product.bullets if bullet.strip()]
