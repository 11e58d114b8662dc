"""The package as it is installed: wheel, editable install and bare clone all import and play."""

import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest
from gymnasium.envs.registration import EnvSpec

import envrl

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LAYOUT: dict[str, str] = PROJECT["tool"]["setuptools"]["package-dir"]
#: what users may delete or never get: nothing of it may be needed to install
NOT_SHIPPED = (".*", "tests", "docs", "examples", "benchmarks", "build", "dist", "runs", "*.egg-info")

PLAY = """
import gymnasium
env = gymnasium.make("envrl:EnvRL/ALFWorld-v0")
observation, info = env.reset(seed=0)
observation, reward, terminated, truncated, info = env.step("look")
import envrl, envrl.envs.core, envrl.wrappers.record, envrl.agents, envrl.cli
print(envrl.__version__, info["action_status"], envrl.__file__, envrl.envs.core.__file__)
"""


def tree_packages() -> Iterator[str]:
    """Every folder of Python files below the mapped roots, as a package name."""
    for name, folder in LAYOUT.items():
        for path in (ROOT / folder, *(ROOT / folder).rglob("*")):
            if path.is_dir() and any(path.glob("*.py")):
                yield ".".join((name, *path.relative_to(ROOT / folder).parts))


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree as a new user has it: no build output, no virtual environment."""
    target = tmp_path_factory.mktemp("clone") / "envrl"
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*NOT_SHIPPED, "__pycache__"))
    return target


def run(python: Path | str, *words: str, cwd: Path) -> str:
    result = subprocess.run([python, *words], capture_output=True, text=True, cwd=cwd, timeout=300)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def wheel(clone: Path) -> Path:
    """The built wheel. Build isolation would fetch setuptools anew; the one here satisfies pyproject.toml."""
    words = ("-m", "build", "--wheel", "--no-isolation", "--outdir", str(clone.parent / "dist"), str(clone))
    run(sys.executable, *words, cwd=clone.parent)
    (built,) = (clone.parent / "dist").glob("envrl-*.whl")
    return built


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A fresh virtual environment that sees the dependencies installed here, but no envrl."""
    venv.create(tmp_path / "venv", with_pip=False)
    lib = next((tmp_path / "venv").glob("lib/python*/site-packages"), tmp_path / "venv/Lib/site-packages")
    for entry in Path(gymnasium.__file__).parents[1].iterdir():
        if "envrl" not in entry.name.lower():
            (lib / entry.name).symlink_to(entry)
    return next(tmp_path.glob("venv/bin/python"), tmp_path / "venv/Scripts/python.exe")


def test_the_package_list_equals_the_tree() -> None:
    assert sorted(PROJECT["tool"]["setuptools"]["packages"]) == sorted(set(tree_packages()))


def test_versions_agree() -> None:
    assert envrl.__version__ == PROJECT["project"]["version"]
    assert f"## {envrl.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_wheel_holds_every_module_and_nothing_else(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {
        "/".join((*name.split("."), *path.relative_to(ROOT / folder).parts))
        for name, folder in LAYOUT.items()
        for path in (ROOT / folder).rglob("*")
        if path.suffix == ".py" or path.name == "py.typed"
    }
    data = {name for name in names if not name.endswith(".py")} - {"envrl/py.typed"}
    assert names - data == expected
    assert all(name.startswith("envrl/") for name in data)


def test_the_wheel_installs_and_plays(wheel: Path, python: Path, tmp_path: Path) -> None:
    target = next(tmp_path.glob("venv/lib/python*/site-packages"), None)
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--target",
        str(target),
        str(wheel),
        cwd=tmp_path,
    )
    shown = run(python, "-c", PLAY, cwd=tmp_path)
    version, status, *places = shown.split()
    assert (version, status) == (envrl.__version__, "ok")
    assert all(str(tmp_path / "venv") in place for place in places)
    run(python, "-m", "envrl", "--version", cwd=tmp_path)


@pytest.mark.parametrize("mode", ["", "editable_mode=strict"])
def test_an_editable_install_follows_the_tree(mode: str, clone: Path, python: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(clone, tree)
    words = ["-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "-e", str(tree)]
    run(python, *words, *(["--config-settings", mode] if mode else []), cwd=tmp_path)
    assert run(python, "-c", PLAY, cwd=tmp_path).split()[:2] == [envrl.__version__, "ok"]
    core = tree / "envs" / "core.py"
    core.write_text(core.read_text() + "\nEDITED = True\n")
    run(python, "-c", "from envrl.envs.core import EDITED", cwd=tmp_path)
    if not mode:  # the strict mode of setuptools links the files that were there
        (tree / "envs" / "added_later.py").write_text("VALUE = 1\n")
        run(python, "-c", "import envrl.envs.added_later", cwd=tmp_path)


def test_a_bare_clone_imports_from_its_root(clone: Path, python: Path) -> None:
    version, status, *places = run(python, "-c", PLAY, cwd=clone).split()
    assert (version, status) == (envrl.__version__, "ok")
    assert all(str(clone) in place for place in places)
    assert run(python, "-m", "envrl", "--version", cwd=clone) == f"envrl {envrl.__version__}\n"


def test_a_spec_as_json_rebuilds_the_environment_elsewhere(tmp_path: Path) -> None:
    env = gymnasium.make("EnvRL/ALFWorld-v0", split="valid_seen", task_types=["look_at_obj_in_light"])
    observation, info = env.reset(seed=5)
    assert env.spec is not None
    (tmp_path / "spec.json").write_text(env.spec.to_json())
    assert EnvSpec.from_json(env.spec.to_json()) == env.spec
    code = (
        "import envrl, gymnasium, pathlib; from gymnasium.envs.registration import EnvSpec\n"
        "env = gymnasium.make(EnvSpec.from_json(pathlib.Path('spec.json').read_text()))\n"
        "observation, info = env.reset(seed=5); print(info['task_id']); print(observation, end='')"
    )
    assert run(sys.executable, "-c", code, cwd=tmp_path) == f"{info['task_id']}\n{observation}"
