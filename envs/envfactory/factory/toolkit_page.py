"""The page on the builtin toolkits, docs/envfactory-toolkits.md.

``python -m envrl.envs.envfactory.factory.toolkit_page docs/envfactory-toolkits.md`` writes it anew.
"""

import json
import sys
from pathlib import Path

from envrl.envs.envfactory.factory.suite import HELD_OUT
from envrl.envs.envfactory.schema import ToolSpec
from envrl.envs.envfactory.sources import load_class
from envrl.envs.envfactory.toolkit import Toolkit
from envrl.envs.envfactory.toolkits import BUILTIN, DOMAINS

_HEAD = """# Builtin toolkits

{toolkits} toolkits over {domains} domains, {tools} tools in all ({writing} of them write). Each is one Python file in
`envs/envfactory/toolkits/` that serves as an example for [toolkits of your own](envfactory-design.md), passes all
gates of `envrl factory verify builtin:NAME`, and has states that are drawn from a seed: people, ids and dates
differ, the clock stands still.

```python
import gymnasium as gym
import envrl

env = gym.make("EnvRL/EnvFactory-v0", toolkits=["bank"])  # only tasks of one toolkit
env = gym.make("EnvRL/EnvFactory-v0", split="held_out")  # only toolkits that training never sees
```

The suite's tasks are split by toolkit: tasks of split `train` use the toolkits marked so below, tasks of split
`held_out` the others, one to three at a time.

| toolkit | domain | split | tools | state |
|---|---|---|---|---|
{rows}

This page is made by `python -m envrl.envs.envfactory.factory.toolkit_page docs/envfactory-toolkits.md`.
"""


def toolkit_page() -> str:
    """The page in Markdown."""
    kinds = {name: load_class(place) for name, place in BUILTIN.items()}
    specs = [spec for kind in kinds.values() for spec in kind.tools().values()]
    head = _HEAD.format(
        toolkits=len(kinds),
        domains=len(set(DOMAINS.values())),
        tools=len(specs),
        writing=sum(spec.effect == "write" for spec in specs),
        rows="\n".join(_row(name, kind) for name, kind in kinds.items()),
    )
    return "\n".join([head, *(_section(name, kind) for name, kind in kinds.items())])


def _row(name: str, kind: type[Toolkit]) -> str:
    split = "held_out" if name in HELD_OUT else "train"
    writes = sum(spec.effect == "write" for spec in kind.tools().values())
    tables = ", ".join(
        key for key, field in kind.State.model_fields.items() if str(field.annotation)[:5] == "dict["
    )
    count = len(kind.tools())
    return f"| [`{name}`](#{name}) | {DOMAINS[name]} | {split} | {count} ({writes} write) | {tables} |"


def _section(name: str, kind: type[Toolkit]) -> str:
    lines = [f"## {name}", "", f"{_summary(kind)} Rules told to the agent: {kind.policy}", ""]
    lines += ["| tool | |", "|---|---|", *(_tool(spec) for spec in kind.tools().values()), ""]
    return "\n".join(lines)


def _summary(kind: type[Toolkit]) -> str:
    module = sys.modules[kind.__module__].__doc__ or ""
    what = module.splitlines()[0].partition(": ")[2]
    return what[:1].upper() + what[1:]


def _tool(spec: ToolSpec) -> str:
    signature, _, description = spec.signature().partition(" - ")
    mark = " *(writes)*" if spec.effect == "write" else ""
    return f"| `{signature.replace('|', chr(92) + '|')}` | {description}{mark} |"


def main() -> None:
    """Write the page to the path that is given."""
    page = toolkit_page()
    Path(sys.argv[1]).write_text(page, encoding="utf-8")
    print(json.dumps({"page": sys.argv[1], "lines": page.count("\n")}))


if __name__ == "__main__":
    main()
