"""The benchmark's tasks and tool descriptions, read from the installed ``bfcl-eval`` package.

Nothing of the package is copied: the files are read where it lies, and only its multi-turn part.
"""

import ast
import importlib.util
import inspect
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from envrl.envs.envfactory.actions import Call
from envrl.envs.envfactory.bfcl.backends import MODULES, backend_class
from envrl.envs.envfactory.json_schema import SchemaChecker
from envrl.envs.envfactory.schema import ToolSpec
from envrl.envs.errors import DataNotFound, InvalidData, InvalidTask

Category = Literal["base", "miss_func", "miss_param", "long_context"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
_PREFIX = "multi_turn_"
#: what the tool descriptions call JSON's types
_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}
_MISSING = (
    "EnvRL/BFCL-v0 plays the tasks of the package bfcl-eval; expected it to be installed, found no {}. "
    "`make data-packages` installs it (or: pip install --no-deps bfcl-eval && pip install mpmath)"
)


class BFCLTask(NamedTuple):
    """A task.

    Attributes:
        id: the benchmark's own. category: of the id.
        turns: what the user says; "" where only further tools are announced.
        classes: names of the backends. config: backend -> initial scenario.
        truth: the ground truth's calls, turn by turn.
        withheld: turn -> tools that are listed from this turn on only.
    """

    id: str
    category: Category
    turns: tuple[str, ...]
    classes: tuple[str, ...]
    config: Mapping[str, Any]
    truth: tuple[tuple[Call, ...], ...]
    withheld: Mapping[int, tuple[str, ...]]

    def listed(self, turn: int) -> dict[str, ToolSpec]:
        """Tool name -> spec, as they are listed in a turn."""
        hidden = {name for first, names in self.withheld.items() if first > turn for name in names}
        return {name: spec for name, spec in self.tools.items() if name not in hidden}

    @property
    def tools(self) -> dict[str, ToolSpec]:
        """All tools of the task, listed or not, in the order of its backends."""
        return {name: spec for kind in self.classes for name, spec in tools_of(kind).items()}


@cache  # four categories of 0.5 MB; they never change
def tasks_of(category: Category) -> Mapping[str, BFCLTask]:
    """Id -> task of a category, in the order of the benchmark's file.

    Raises:
        DataNotFound: the package is not installed.
        InvalidData: it holds something else than expected.
    """
    file = f"BFCL_v4_{_PREFIX}{category}.json"
    truths = {row["id"]: row["ground_truth"] for row in _rows(f"possible_answer/{file}")}
    return MappingProxyType({row["id"]: _task(row, truths, category, file) for row in _rows(file)})


def find_task(task_id: str) -> BFCLTask:
    """The task of an id, whatever its category. Raises InvalidTask, DataNotFound."""
    category = task_id.removeprefix(_PREFIX).rpartition("_")[0]
    for known in CATEGORIES:
        if known == category and task_id in tasks_of(known):
            return tasks_of(known)[task_id]
    raise InvalidTask(f"no task {task_id!r}; expected an id such as 'multi_turn_base_0'")


@cache  # one entry a backend
def tools_of(kind: str) -> Mapping[str, ToolSpec]:
    """The tools of a backend. Raises DataNotFound, InvalidData."""
    specs = {}
    for row in _rows(f"multi_turn_func_doc/{MODULES[kind]}.json"):
        schema = _json_schema(row["parameters"])
        specs[row["name"]] = ToolSpec(
            name=row["name"],
            effect="write",  # the benchmark does not say which tools only read
            description=row["description"].rpartition("Tool description: ")[2],
            parameters=schema,
            check=SchemaChecker(schema),
            returns=_json_schema(row.get("response", {})),
        )
    return MappingProxyType(specs)


def data_folder() -> Path:
    """The ``data`` folder of the installed package. Raises DataNotFound."""
    for package in ("bfcl_eval", "mpmath"):
        if importlib.util.find_spec(package) is None:
            raise DataNotFound(_MISSING.format(package))
    spec = importlib.util.find_spec("bfcl_eval")
    assert spec is not None and spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "data"


def _task(row: Mapping[str, Any], truths: Mapping[str, Any], category: Category, file: str) -> BFCLTask:
    try:
        classes = tuple(row["involved_classes"])
        return BFCLTask(
            id=row["id"],
            category=category,
            turns=tuple("\n".join(message["content"] for message in turn) for turn in row["question"]),
            classes=classes,
            config=row["initial_config"],
            truth=tuple(tuple(_read_call(text, classes) for text in turn) for turn in truths[row["id"]]),
            withheld={int(turn): tuple(names) for turn, names in row.get("missed_function", {}).items()},
        )
    except (KeyError, TypeError, ValueError, SyntaxError) as error:
        raise InvalidData(
            f"{file}: expected a multi-turn task as in bfcl-eval 2026.3, found {type(error).__name__}: {error}"
        ) from error


def _read_call(text: str, classes: tuple[str, ...]) -> Call:
    """A call in Python's notation, as the ground truth has it, with all arguments by name."""
    node = ast.parse(text.strip(), mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"{text!r} is no call")
    name = node.func.id
    owner = next(kind for kind in classes if name in tools_of(kind))
    names = list(inspect.signature(getattr(backend_class(owner), name)).parameters)[1:]
    arguments = dict(zip(names, map(ast.literal_eval, node.args), strict=False))
    arguments |= {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
    return Call(name, arguments)


def _json_schema(described: Any) -> dict[str, Any]:
    """A description of parameters as JSON schema: the same but for the names of types."""
    if not isinstance(described, dict):
        return {}
    schema = {key: value for key, value in described.items() if key not in ("type", "properties", "items")}
    kind = _TYPES.get(described.get("type", "any"), described.get("type"))
    if kind is not None:
        schema["type"] = kind
    if "properties" in described:
        schema["properties"] = {key: _json_schema(part) for key, part in described["properties"].items()}
    if "items" in described:
        schema["items"] = _json_schema(described["items"])
    return schema


def _rows(name: str) -> list[dict[str, Any]]:
    path = data_folder() / name
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except FileNotFoundError:
        raise DataNotFound(_MISSING.format(f"{name} in it (another version?)")) from None
    except ValueError as error:
        raise InvalidData(f"{path}: expected JSON lines, found {error}") from error
