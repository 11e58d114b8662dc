"""Settings from a file: YAML or JSON whose keys are the fields of a dataclass."""

import difflib
import json
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from envrl.envs.errors import MissingExtra, WrongUse

T = TypeVar("T")


def load_settings(path: Path, kind: type[T]) -> T:
    """The settings in a file; what it does not name has its default.

    Args:
        path: a file that ends in ``.yaml``, ``.yml`` or ``.json``. Paths in it are taken from the present folder.
        kind: the dataclass, such as `envrl.agents.config.TrainConfig`.

    Raises:
        WrongUse: the file is not there or cannot be read, a setting does not exist, or a value cannot be.
        MissingExtra: PyYAML is not installed.
    """
    values = _read(path)
    if not isinstance(values, dict):
        raise WrongUse(f"{path}: expected a mapping of settings, found {type(values).__name__}")
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise WrongUse(f"{path}: no setting is called {key!r}{hint} (`envrl train --help` lists them)")
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        raise WrongUse(f"{path}: {'; '.join(_complaint(e) for e in error.errors())}") from error


def _read(path: Path) -> Any:
    if not path.is_file():
        raise WrongUse(f"there is no file {str(path)!r}; give one in YAML or JSON")
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise WrongUse(f"{path} is not JSON: {error}") from error
    if path.suffix not in (".yaml", ".yml"):
        raise WrongUse(f"expected a file that ends in .yaml, .yml or .json, got {str(path)!r}")
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra(
            "settings in YAML need PyYAML; install it with: pip install 'envrl[train]'"
        ) from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise WrongUse(f"{path} is not YAML: {error}") from error


def _complaint(error: Any) -> str:
    """One of pydantic's errors in words."""
    reason = error["msg"].removeprefix("Value error, ")
    if not error["loc"]:
        return reason
    where = ".".join(str(part) for part in error["loc"])
    return f"{where}: {reason[:1].lower()}{reason[1:]}, got {error['input']!r}"
