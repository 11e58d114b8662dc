"""`Product`: what the shop knows of one product, cleaned, however it came about.

Official files (`envrl.envs.webshop.official`) and the generator of synthetic catalogues make the same thing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class HumanInstruction:
    """An instruction that a person wrote for a product.

    Args:
        text: the instruction, as it stands in the file.
        attributes: the attributes it asks for.
        options: the option values it asks for, without the names of the options.
    """

    text: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """One product of the shop.

    Args:
        asin: its id, at most ten characters, in the case of the file.
        title: its name.
        description: a paragraph, possibly empty.
        bullets: features, possibly one empty text.
        category: one of the shop's five departments: beauty, electronics, fashion, garden, grocery.
        product_category: the path in the shop's tree, segments joined by U+203A between blanks.
        query: the search under which it was found, lower case: what kind of thing it is.
        attributes: short properties such as ``machine washable``; ``("DUMMY_ATTR",)`` where none are known.
        options: name of an option -> its values in order; names and values in lower case.
        pricing: one price in dollars, or the two ends of a range.
        image: address of the picture.
        option_images: option value -> address of its picture.
        instruction: what a buyer would ask for in words, without options and price; None for a product that
            is no goal.
        instruction_attributes: the attributes that the instruction asks for.
        human_instructions: instructions by people.
        title_nouns: nouns and proper nouns of the title, lower case, in order, with repetitions; None where
            they are not known yet.
    """

    asin: str
    title: str
    description: str
    bullets: tuple[str, ...]
    category: str
    product_category: str
    query: str
    attributes: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    pricing: tuple[float, ...]
    image: str = ""
    option_images: Mapping[str, str] = field(default_factory=dict)
    instruction: str | None = None
    instruction_attributes: tuple[str, ...] = ()
    human_instructions: tuple[HumanInstruction, ...] = ()
    title_nouns: tuple[str, ...] | None = None

    @property
    def price_tag(self) -> str:
        """The price as pages show it: ``$12.5`` or ``$12.5 to $20.0``."""
        return " to ".join(f"${price}" for price in self.pricing)
