"""The colour words of WebShop's option matching, a constant of the benchmark."""

#: of several that occur in a text the first in this order counts
COLOURS: tuple[str, ...] = tuple(
    """
    alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown
    burgundy camel camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac
    copper coral cranberry cream crystal dark denim eggplant elephant espresso fuchsia gold granite
    grape graphite grass gray green grey heather indigo ivory ivy khaki lavender lemon leopard light
    lilac lime magenta maroon mauve merlot midnight mint mocha multicolor mushroom mustard natural navy
    nude olive orange peach pewter pink plum purple rainbow red rose royal rust sand sapphire seashell
    silver skull slate steel stone stonewash sunflower tan taupe teal tiger turquoise violet walnut
    wheat white wine yellow
    """.split()  # noqa: SIM905 - easier to read than a list
)


def colour_or(text: str) -> str:
    """The first colour that occurs in a text, also within a word; the text itself where there is none.

    >>> colour_or("2005black"), colour_or("12 inch")
    ('black', '12 inch')
    """
    return next((colour for colour in COLOURS if colour in text), text)
