from pathlib import Path

from envrl.envs.envfactory.factory.toolkit_page import toolkit_page
from envrl.envs.envfactory.toolkits import BUILTIN, DOMAINS

PAGE = Path(__file__).resolve().parents[4] / "docs" / "envfactory-toolkits.md"


def test_the_page_in_the_documentation_is_the_one_that_is_made() -> None:
    command = "python -m envrl.envs.envfactory.factory.toolkit_page docs/envfactory-toolkits.md"
    assert PAGE.read_text(encoding="utf-8") == toolkit_page(), f"make it anew: {command}"


def test_every_toolkit_has_a_domain() -> None:
    assert list(DOMAINS) == list(BUILTIN)
    assert len(set(DOMAINS.values())) >= 7
