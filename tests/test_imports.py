"""What importing costs, and which way imports point: envs <- wrappers <- agents <- worldmodel <- envrl."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
#: from the bottom up; a package imports itself and those before it
LAYERS = ("envs", "wrappers", "agents", "worldmodel", "envrl")
HEAVY = (
    "torch",
    "transformers",
    "accelerate",
    "peft",
    "tensorboard",
    "datasets",
    "pandas",
    "prompt_toolkit",
    "ray",
)
SAY_NOTHING = {"utils", "util", "helpers", "helper", "common", "misc"}


def sources(*packages: str) -> Iterator[Path]:
    for package in packages:
        yield from sorted((ROOT / package).rglob("*.py"))


def imports(tree: ast.AST, path: Path) -> Iterator[str]:
    """Every module that the statements below ``tree`` import, as an absolute name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import; write the absolute name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer(module: str) -> str | None:
    """The package of ours that a module belongs to."""
    parts = module.split(".")
    if parts[0] != "envrl":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else "envrl"


def at_module_level(tree: ast.Module) -> ast.Module:
    """The statements that run at import: no function bodies, nothing under ``if TYPE_CHECKING``."""

    class Runs(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            return None

        def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
            return None

        def visit_If(self, node: ast.If) -> ast.AST:
            return ast.Pass() if "TYPE_CHECKING" in ast.unparse(node.test) else self.generic_visit(node)

    return Runs().visit(tree)


@pytest.mark.parametrize("package", [name for name in LAYERS if (ROOT / name).is_dir()])
def test_imports_point_one_way(package: str) -> None:
    allowed = set(LAYERS[: LAYERS.index(package) + 1])
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sources(package)
        for module in imports(ast.parse(path.read_text()), path)
        if layer(module) not in (None, *allowed)
    ]
    assert not wrong


def test_no_environment_imports_another() -> None:
    shared = {"conformance"}  # checks that any environment may be put through
    folders = {path.name for path in (ROOT / "envs").iterdir() if path.is_dir()} - shared
    wrong = []
    for path in sources("envs"):
        own = path.relative_to(ROOT / "envs").parts[0]
        for module in imports(ast.parse(path.read_text()), path):
            parts = module.split(".")
            if parts[:2] == ["envrl", "envs"] and len(parts) > 2 and parts[2] in folders - {own}:
                wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert not wrong


def test_environments_and_wrappers_load_no_heavy_package() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sources("envs", "wrappers")
        for module in imports(at_module_level(ast.parse(path.read_text())), path)
        if module.split(".")[0] in HEAVY
    ]
    assert not wrong


def test_the_checks_above_see_what_they_should() -> None:
    path = Path("x.py")
    tree = ast.parse(
        "if TYPE_CHECKING:\n    import jax\nimport torch.nn\ndef f():\n    from envrl.agents import trainer\n"
        "class A:\n    from envrl.envs.core import TextEnv\n    def g(self):\n        import flax\n"
    )
    assert list(imports(tree, path)) != [] and "envrl.agents.trainer" in set(imports(tree, path))
    assert set(imports(at_module_level(tree), path)) == {"torch.nn", "envrl.envs.core.TextEnv"}
    assert layer("envrl.agents.trainer") == "agents" and layer("envrl.cli") == layer("envrl") == "envrl"
    assert layer("numpy") is None


def loaded_by(statement: str) -> set[str]:
    """The top-level packages in a fresh interpreter after ``statement``."""
    code = f"{statement}; import sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.splitlines()[-1].split())  # what the statement itself prints comes before


def test_importing_envrl_loads_gymnasium_and_nothing_of_weight() -> None:
    loaded = loaded_by("import envrl")
    assert "gymnasium" in loaded
    assert not loaded & {*HEAVY, "pyarrow", "pydantic", "rapidfuzz", "rich", "tyro", "multiprocess"}


LIGHT = [
    *(f"{name} --help" for name in ("play", "record", "train", "eval", "study")),
    "--help",
    "--version",
    "data list",
]


@pytest.mark.parametrize("words", LIGHT)
def test_light_commands_load_no_heavy_package(words: str) -> None:
    assert not loaded_by(f"from envrl.cli import main; assert main({words.split()}) == 0") & set(HEAVY)


def test_playing_a_game_loads_no_heavy_package() -> None:
    make = "env = gymnasium.make('envrl:EnvRL/ALFWorld-v0')"
    statement = f"import gymnasium; {make}; env.reset(seed=0); env.step('look')"
    assert not loaded_by(statement) & set(HEAVY)


def test_file_names_say_something() -> None:
    named = {path for path in sources(*LAYERS, "tests", "examples", "benchmarks") if path.stem in SAY_NOTHING}
    folders = {path.parent for path in sources(*LAYERS) if path.parent.name in SAY_NOTHING}
    assert not named | folders
