"""`generate`: from a document to a toolkit's file in a task folder."""

import re
from pathlib import Path

from envrl.envs.envfactory.generators.blueprint import Blueprint, snake
from envrl.envs.envfactory.generators.write import class_name, write_toolkit
from envrl.envs.errors import DataNotFound

TOOLKIT = "toolkit.py"
_DATABASES = (".db", ".sqlite", ".sqlite3")
_APIS = (".yaml", ".yml", ".openapi.json", "openapi.json", "swagger.json")


def is_document(path: Path) -> bool:
    """Whether it is a database, a folder of CSV files or an API's description."""
    if path.is_dir():
        return any(path.glob("*.csv"))
    return path.is_file() and (path.suffix in _DATABASES or path.name.endswith(_APIS) or _says_openapi(path))


def generate(document: Path, folder: Path) -> str:
    """Write a toolkit for a document, unless one is there already: people change what was generated.

    Args:
        document: a SQLite file, a folder of CSV files, or an OpenAPI 3 document (JSON or YAML).
        folder: the task folder; made if it is not there.

    Returns:
        The spec of the toolkit, relative to the folder.

    Raises:
        DataNotFound: there is no such document. InvalidData: no toolkit can be made of it.
    """
    if not document.exists():
        raise DataNotFound(f"no such file or folder: {document}")
    plan = blueprint_of(document)
    name, target = class_name(plan.name), folder / TOOLKIT
    if target.exists() and f"class {name}(" not in target.read_text(encoding="utf-8"):
        target = folder / f"{plan.name}_toolkit.py"  # the other one is of another document
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        target.write_text(write_toolkit(plan), encoding="utf-8", newline="\n")
    return f"{target.name}:{name}"


def blueprint_of(document: Path) -> Blueprint:
    """What would be written for a document. Raises DataNotFound, InvalidData."""
    name = snake(re.sub(r"[._-]?(openapi|swagger)$", "", document.name.split(".")[0]) or "api")
    words = name.replace("_", " ")
    if document.is_dir() or document.suffix in _DATABASES:
        from envrl.envs.envfactory.generators.tables import csv_tables, sqlite_tables, table_blueprint

        raw = csv_tables(document) if document.is_dir() else sqlite_tables(document)
        return table_blueprint(raw, name, f"The tables of {words}")
    from envrl.envs.envfactory.generators.openapi import read_document
    from envrl.envs.envfactory.generators.resources import api_blueprint

    return api_blueprint(read_document(document), name)


def _says_openapi(path: Path) -> bool:
    """Whether a JSON file is an API's description, and not that of an MCP server."""
    if path.suffix != ".json":
        return False
    with path.open("rb") as file:
        return re.search(rb'"openapi"\s*:\s*"3', file.read(4096)) is not None
