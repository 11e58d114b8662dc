"""A tool of a generated toolkit, as the lines of a method."""

from collections.abc import Sequence
from dataclasses import replace

from envrl.envs.envfactory.generators.blueprint import Blueprint, Column, Operation, Table
from envrl.envs.envfactory.toolkit import Toolkit

#: names that the class body needs for something else
_KEPT = {*dir(Toolkit), "State", "name", "list", "str", "int", "float", "bool", "any", "tool", "next_id"}
_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def class_name(name: str) -> str:
    """The class's name for one in snake case."""
    return "".join(word.capitalize() for word in name.split("_"))


def record_name(plan: Blueprint, table: Table) -> str:
    """The name of the class of a table's rows: none that the file has for something else."""
    own = class_name(plan.name)
    taken = {"Annotated", "Any", "ClassVar", "Literal", "ToolError", "Toolkit", own, f"{own}State"}
    name = class_name(table.singular)
    return f"{name}Row" if name in taken else name


def with_article(words: str) -> str:
    """``an order``, ``a pet``."""
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def hint_of(column: Column) -> str:
    """The type hint of a column."""
    hint = f"Literal[{', '.join(map(repr, column.choices))}]" if column.choices else _TYPES[column.kind]
    bounds = {"ge": column.low, "le": column.high}
    given = ", ".join(f"{key}={bound!r}" for key, bound in bounds.items() if bound is not None)
    if given and not column.choices:
        hint = f"Annotated[{hint}, pydantic.Field({given})]"
    return f"{hint} | None" if column.optional else hint


def in_order(columns: Sequence[Column]) -> list[Column]:
    """Columns that must be given first, as Python wants it."""
    return sorted(columns, key=lambda column: column.optional)


def tool_lines(plan: Blueprint, operation: Operation) -> list[str]:
    """The method of an operation, indented for a class body."""
    table = plan.table(operation.table)
    words, key = table.words, table.singular
    by_id = operation.deed in ("get", "set", "move", "remove")
    columns = [table.column(name) for name in operation.columns] if operation.deed != "move" else []
    if operation.deed == "list":
        columns = [replace(column, optional=True) for column in columns]
    elif operation.deed == "find" or (operation.deed == "set" and len(columns) == 1):
        columns = [replace(column, optional=False) for column in columns]
    else:
        columns = [replace(c, optional=False) if c.name in operation.must else c for c in columns]
    columns = in_order(columns)
    arguments = [f"{key}: str"] if by_id else []
    arguments += [f"{c.name}: {hint_of(c)}{' = None' if c.optional else ''}" for c in columns]
    many = operation.deed in ("list", "find")
    record = record_name(plan, table)
    result = f"list[{record}View]" if many else f"{record}View"
    effect = "read" if many or operation.deed == "get" else "write"
    phrase, line = _words(table, operation, columns)
    method = f"{operation.tool}_tool" if operation.tool in _KEPT else operation.tool
    named = f"name={operation.tool!r}, " if method != operation.tool else ""
    notes = (
        [f"{key}: id of the {words}, such as {next(iter(table.rows), table.prefix + '1')}"] if by_id else []
    )
    notes += [f"{c.name}: {_note(plan, c, words)}" for c in columns]
    about = [f'        """{_clean(operation.description) or line}']
    if notes:
        about += ["", "        Args:", *(f"            {note}" for note in notes)]
        about += ['        """']
    else:
        about[0] += '"""'
    return [
        f"    @tool(effect={effect!r}, {named}phrases=({phrase!r},))",
        f"    def {method}(self{''.join(f', {argument}' for argument in arguments)}) -> {result}:",
        *about,
        *(f"        {line}" for line in _body(plan, table, operation, columns)),
    ]


def _note(plan: Blueprint, column: Column, words: str) -> str:
    if column.refers:
        return f"id of the {column.refers.replace('_', ' ')}"
    return _clean(column.description) or f"{column.words} of the {words}"


def _clean(text: str) -> str:
    """One line that can stand in a docstring."""
    return " ".join(text.replace("\\", "/").replace('"', "'").split())[:200]


def _words(table: Table, operation: Operation, columns: Sequence[Column]) -> tuple[str, str]:
    """(how a person asks for it, what it does in a line)."""
    one, many, key = with_article(table.words), table.plural.replace("_", " "), f"{{{table.singular}}}"
    given = [c for c in columns if not c.optional] or list(columns)
    blanks = " and ".join(f"{c.words} {{{c.name}}}" for c in given)
    named = ", ".join(c.words for c in columns)
    if operation.deed == "get":
        return f"Show me {key}.", f"Show {one}."
    if operation.deed == "list":
        return f"Which {many} are there?", f"List all {many}."
    if operation.deed == "find":
        if columns[0].refers:
            return f"Which {many} belong to {{{columns[0].name}}}?", f"List the {many} of a given {named}."
        return f"Which {many} have the {blanks}?", f"List the {many} with a given {named}."
    if operation.deed == "add":
        return f"Add {one}{f' with the {blanks}' if blanks else ''}.", f"Add {one}."
    if operation.deed == "set":
        return f"Change the {blanks.replace(' {', ' of ' + key + ' to {', 1)}.", f"Change {named} of {one}."
    if operation.deed == "move":
        words = table.column(operation.columns[0]).words
        return f"Set {key} to {operation.value}.", f"Set the {words} of {one} to {operation.value}."
    return f"Remove {key}.", f"Remove {one}."


def _body(plan: Blueprint, table: Table, operation: Operation, columns: Sequence[Column]) -> list[str]:
    key, rows, record = table.singular, f"self.state.{table.plural}", record_name(plan, table)
    if operation.deed == "get":
        return [f"return self._{key}_view({key})"]
    checks = [line for column in columns for line in _checks(table, column, operation.deed)]
    if operation.deed == "list":
        if not columns:
            return [f"return [self._{key}_view(key) for key in {rows}]"]
        tests = " and ".join(f"{c.name} in (None, row.{c.name})" for c in columns)
        return [*checks, f"return [self._{key}_view(key) for key, row in {rows}.items() if {tests}]"]
    if operation.deed == "find":
        tests = " and ".join(f"row.{c.name} == {c.name}" for c in columns)
        lines = [*checks, f"return [self._{key}_view(key) for key, row in {rows}.items() if {tests}]"]
        if not any(column.refers for column in columns):
            lines[-1] = lines[-1].replace("return ", "found = ", 1)
            shown = " and ".join(f"{c.words} {{{c.name}!r}}" for c in columns)
            error = f'    raise ToolError(f"no {table.words} has the {shown}")'
            lines += ["if not found:", error, "return found"]
        return lines
    if operation.deed == "add":
        given = ", ".join([*(f"{c.name}={c.name}" for c in columns), *_begin_with(table, operation)])
        return [
            *checks,
            f'key = next_id("{table.prefix}", {rows}, first={_first(table)})',
            f"{rows}[key] = {record}({given})",
            f"return self._{key}_view(key)",
        ]
    if operation.deed == "set":
        sets = []
        for column in columns:
            line = f"found.{column.name} = {column.name}"
            sets += [f"if {column.name} is not None:", f"    {line}"] if column.optional else [line]
        return [f"found = self._{key}({key})", *checks, *sets, f"return self._{key}_view({key})"]
    if operation.deed == "move":
        (name,) = operation.columns
        return [
            f"found = self._{key}({key})",
            f"if found.{name} == {operation.value!r}:",
            f'    raise ToolError(f"{table.words} {{{key}}} is {operation.value} already")',
            f"found.{name} = {operation.value!r}",
            f"return self._{key}_view({key})",
        ]
    lines = [f"gone = self._{key}_view({key})"]
    for other in plan.tables:
        for column in other.columns:
            if column.refers == key:
                words = other.plural.replace("_", " ")
                lines += [
                    f"if any(row.{column.name} == {key} for row in self.state.{other.plural}.values()):",
                    f'    raise ToolError(f"{table.words} {{{key}}} still has {words}")',
                ]
    return [*lines, f"del {rows}[{key}]", "return gone"]


def _begin_with(table: Table, operation: Operation) -> list[str]:
    """What a new row holds that nobody is asked for."""
    rest = [
        column for column in table.columns if column.name not in operation.columns and not column.optional
    ]
    return [f"{column.name}={(column.choices[0] if column.choices else False)!r}" for column in rest]


def _checks(table: Table, column: Column, deed: str) -> list[str]:
    name = column.name
    lines: list[str] = []
    if column.refers:
        lines = [f"self._{column.refers}({name})"]
    elif deed in ("add", "set"):
        if column.kind == "string" and not column.choices:
            lines = [f"if not {name}.strip():", f'    raise ToolError("{column.words} is empty")']
        if column.unique:
            others = f"any(row.{name} == {name} for row in self.state.{table.plural}.values())"
            lines += [
                f"if {others}:",
                f'    raise ToolError(f"there is a {table.words} with the '
                f'{column.words} {{{name}!r}} already")',
            ]
    if column.optional and lines:
        return [f"if {name} is not None:", *(f"    {line}" for line in lines)]
    return lines


def _first(table: Table) -> int:
    """The first number that no row of the source has: a new id is then never one that was somewhere else."""
    numbers = [int(key[len(table.prefix) :]) for key in table.rows if key[len(table.prefix) :].isdigit()]
    return max(numbers, default=0) + 1
