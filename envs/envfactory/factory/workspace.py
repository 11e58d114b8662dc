"""`Workspace`: the files between the stages of the factory, in the folder ``factory`` of a task folder."""

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from envrl.envs.envfactory.factory.arena import Stock
from envrl.envs.envfactory.factory.chain import Chain, chain_of, read_chains, write_chains
from envrl.envs.envfactory.factory.explore import Exploration
from envrl.envs.envfactory.factory.graph import ToolGraph
from envrl.envs.envfactory.factory.synthesize import Draft
from envrl.envs.envfactory.factory.verify import Report
from envrl.envs.envfactory.sources import Source, open_source
from envrl.envs.envfactory.task import Output, ReferenceStep, ToolkitUse, Turn
from envrl.envs.errors import DataNotFound

#: what a stage writes -> the stage, for messages about files that are not there
_MADE_BY = {"sources.json": "explore", "chains.jsonl": "sample", "drafts.jsonl": "synthesize"}


class Workspace:
    """Reads and writes what the stages hand on.

    Args:
        folder: the task folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "factory"

    # ---- one toolkit -------------------------------------------------------------------------------------

    def sources(self) -> dict[str, str]:
        """Toolkit name -> spec, of all that were explored."""
        found: dict[str, str] = json.loads(self._read("sources.json"))
        return found

    def open(self, name: str) -> Source:
        """The source of a toolkit."""
        return open_source(self.sources()[name], self.folder)

    def save_exploration(self, name: str, found: Exploration) -> None:
        """Add or replace a toolkit."""
        self.path.mkdir(parents=True, exist_ok=True)
        known = self.sources() if (self.path / "sources.json").exists() else {}
        self._write(
            "sources.json", json.dumps({**known, name: found.source}, indent=1, sort_keys=True) + "\n"
        )
        self._write(f"{name}.explore.json", found.to_json() + "\n")

    def keep(self, names: Collection[str]) -> None:
        """Forget all toolkits but these."""
        kept = {name: spec for name, spec in self.sources().items() if name in names}
        self._write("sources.json", json.dumps(kept, indent=1, sort_keys=True) + "\n")

    def exploration(self, name: str) -> Exploration:
        """What was found out about a toolkit."""
        return Exploration.from_json(self._read(f"{name}.explore.json"))

    def save_report(self, name: str, report: Report) -> None:
        """What the gates said."""
        self._write(f"{name}.verify.json", report.to_json())

    def report(self, name: str) -> dict[str, Any]:
        """What the gates said, as JSON data."""
        data: dict[str, Any] = json.loads(self._read(f"{name}.verify.json"))
        return data

    def save_graph(self, name: str, graph: ToolGraph) -> None:
        """The graph of a toolkit."""
        self._write(f"{name}.graph.json", graph.to_json())

    def graph(self, name: str) -> ToolGraph:
        """The graph of a toolkit."""
        return ToolGraph.from_json(self._read(f"{name}.graph.json"))

    def stock(self, name: str, seed: int) -> Stock:
        """A toolkit with all that is known of it."""
        return Stock(self.open(name), self.exploration(name), self.graph(name), seed)

    # ---- chains and drafts -------------------------------------------------------------------------------

    def save_chains(self, chains: Iterable[tuple[str, Chain]]) -> None:
        """(split, chain) pairs."""
        write_chains(self.path / "chains.jsonl", chains)

    def chains(self) -> Iterator[tuple[str, Chain]]:
        """What `save_chains` wrote."""
        self._read("chains.jsonl")
        return read_chains(self.path / "chains.jsonl")

    def save_drafts(self, drafts: Iterable[tuple[str, Draft]]) -> None:
        """(split, draft) pairs."""
        with (self.path / "drafts.jsonl").open("w", encoding="utf-8", newline="\n") as file:
            for split, draft in drafts:
                data = {
                    "split": split,
                    "kind": draft.kind,
                    "chain": asdict(draft.chain),
                    "hidden": draft.hidden,
                    "toolkits": [use.model_dump() for use in draft.toolkits],
                    "turns": [turn.model_dump() for turn in draft.turns],
                    "reference": [step.model_dump() for step in draft.reference],
                    "outputs": [output.model_dump() for output in draft.outputs],
                }
                file.write(json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n")

    def drafts(self) -> Iterator[tuple[str, Draft]]:
        """What `save_drafts` wrote."""
        for line in self._read("drafts.jsonl").splitlines():
            data = json.loads(line)
            yield (
                data["split"],
                Draft(
                    chain_of(data["chain"]),
                    data["kind"],
                    tuple(ToolkitUse(**use) for use in data["toolkits"]),
                    tuple(Turn(**turn) for turn in data["turns"]),
                    tuple(ReferenceStep(**step) for step in data["reference"]),
                    tuple(Output(**output) for output in data["outputs"]),
                    tuple(data["hidden"]),
                ),
            )

    def save_counts(self, stage: str, counts: dict[str, Any]) -> None:
        """What a stage counted; kept stage by stage in ``counts.json``."""
        file = self.path / "counts.json"
        known = json.loads(file.read_text()) if file.exists() else {}
        self._write("counts.json", json.dumps({**known, stage: counts}, indent=1, ensure_ascii=False) + "\n")

    def counts(self) -> dict[str, Any]:
        """What the stages counted."""
        file = self.path / "counts.json"
        found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        return found

    def _write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8", newline="\n")

    def _read(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            stage = _MADE_BY.get(name, name.split(".")[-2])
            raise DataNotFound(
                f"expected {self.path / name}, found none; `envrl factory {stage}` makes it (build runs all stages)"
            ) from None
