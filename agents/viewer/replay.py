"""Episodes seen through the newest checkpoint: how likely each action was, and what the model thought would follow.

Both are asked of the model as it is now, not as it was when it acted: old episodes show what it has learned since.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from envrl.agents import checkpoint
from envrl.agents.batches import pad
from envrl.agents.candidates import CandidateTree
from envrl.agents.heads import Heads
from envrl.agents.models import LanguageModel, load_model
from envrl.agents.objective_rows import MAX_TARGET_TOKENS
from envrl.agents.policies.decoding import Decoding
from envrl.agents.policies.distributions import candidate_log_softmax
from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.policies.settings import PolicySettings, make_format, make_policy
from envrl.agents.prompts import Candidates, EpisodeFormat
from envrl.agents.transcripts import Transcript, offer_of
from envrl.agents.viewer.branches import BranchTree
from envrl.wrappers.transition import Transition


class Turn(NamedTuple):
    """What the model says of one step.

    choices: (action, probability) of what it was offered, likeliest first; probabilities sum to 1. predicted: the next
    observation by greedy decoding, as long in tokens as the real one (nothing teaches the model where to end). whole:
    the real one was predicted to its end; a longer one is cut. surprise: mean loss of the real tokens, in nats; None
    if there are none.
    """

    choices: list[tuple[str, float]]
    predicted: str
    whole: bool
    surprise: float | None


class _Switched(LanguageModel):
    """A model whose output layer can be that of the objectives."""

    def __init__(self, lm: LanguageModel, objectives: torch.nn.Module | None) -> None:
        super().__init__(lm.model, lm.tokenizer)
        self._objectives, self.predicting = objectives, False

    def logits(self, hidden: Tensor) -> Tensor:
        if self.predicting and self._objectives is not None:
            return self._objectives(hidden)
        return super().logits(hidden)


class Replay:
    """A run's newest model, ready to look at its episodes.

    Args:
        path: the run, one of its checkpoints, or a model folder.
        settings: of the run.

    Raises:
        DataNotFound: there is no model.
    """

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        folder = checkpoint.model_folder(path)
        lm = load_model(str(folder))
        adapter = settings.get("aux_head") == "adapter"
        heads = Heads.build(
            lm,
            critic=False,
            adapter=adapter,
            rank=settings.get("aux_head_rank", 0),
            seed=settings.get("seed", 0),
        )
        heads.load(folder.parent)
        self.name = folder.parent.name if folder.name == "model" else folder.name
        self._lm = _Switched(lm, heads.objectives)
        self._lm.model.eval()
        self._kind = PolicySettings.of(settings)
        if self._kind.policy == "endpoint":  # the model is here now
            self._kind = replace(self._kind, policy="generate")
        self._format: EpisodeFormat = make_format(self._lm, self._kind)
        self._temperature = float(settings.get("temperature") or 1.0)
        self._policy: ModelPolicy = make_policy(self._lm, self._format, self._kind, self._temperature)

    @torch.inference_mode()
    def turns(self, episodes: Sequence[Sequence[Transition]]) -> list[list[Turn]]:
        """What the model says of every step; episodes are decoded as one batch."""
        rows = [_Row(self._policy, transitions) for transitions in episodes]
        decoding = Decoding(self._lm, [np.random.default_rng(0) for _ in rows], 0.0)
        for step in range(max(len(row.transitions) for row in rows)):
            live = {i: row for i, row in enumerate(rows) if step < len(row.transitions)}
            self._choices(decoding, live)
            self._predictions(decoding, live)
        return [
            [
                Turn(choices, predicted, whole, surprise)
                for choices, (predicted, whole), surprise in zip(
                    row.choices, row.predictions, self._surprises(row.transcript), strict=True
                )
            ]
            for row in rows
        ]

    def _choices(self, decoding: Decoding, rows: dict[int, "_Row"]) -> None:
        offered: dict[int, dict[tuple[int, ...], str]] = {}
        trees: dict[int, CandidateTree] = {}
        for i, row in rows.items():
            decoding.start(i, row.transcript.prompt)
            offered[i] = row.offered(self._format)
            ids = list(offered[i])
            constrained = self._kind.policy == "constrained"
            trees[i] = BranchTree(ids, self._temperature) if constrained else CandidateTree(ids)
        for i, totals in decoding.totals(trees).items():
            if self._kind.policy != "constrained":
                per_token = self._kind.policy == "score" and self._kind.score_per_token
                among = Candidates(tuple(offered[i]), 0, per_token)
                totals = candidate_log_softmax(totals, among, self._temperature)
            choices = zip(offered[i].values(), totals.exp().tolist(), strict=True)
            rows[i].choices.append(sorted(choices, key=lambda choice: -choice[1]))

    def _predictions(self, decoding: Decoding, rows: dict[int, "_Row"]) -> None:
        """Decode what each row's model expects after its action, then take up what came."""
        left: dict[int, int] = {}
        predicted: dict[int, list[int]] = {i: [] for i in rows}
        targets: dict[int, int] = {}
        for i, row in rows.items():
            before, targets[i] = row.act(self._format)
            decoding.start(i, before)
            left[i] = min(targets[i], MAX_TARGET_TOKENS)
        self._lm.predicting = True
        while active := [i for i in rows if left[i]]:
            logits = decoding.logits(active)
            for i in active:
                token = int(logits[i].argmax())
                predicted[i].append(token)
                decoding.push(i, [token])
                left[i] -= 1
        self._lm.predicting = False
        for i, row in rows.items():
            row.predictions.append((self._lm.decode(predicted[i]), targets[i] <= MAX_TARGET_TOKENS))

    def _surprises(self, transcript: Transcript) -> list[float | None]:
        found: list[float | None] = []
        self._lm.predicting = True
        for tokens in transcript.sequences:
            hidden = self._lm.hidden(pad([tokens.ids], self._lm.device))[0]
            for start, end in tokens.replies:
                end = min(end, start + MAX_TARGET_TOKENS)
                if start == end:
                    found.append(None)
                    continue
                target = torch.tensor(tokens.ids[start:end], device=hidden.device)
                logits = self._lm.logits(hidden[start - 1 : end - 1])
                found.append(float(functional.cross_entropy(logits, target)))
        self._lm.predicting = False
        return found


class _Row:
    """An episode on its way through the model."""

    def __init__(self, policy: ModelPolicy, transitions: Sequence[Transition]) -> None:
        self.transitions = transitions
        self.choices: list[list[tuple[str, float]]] = []
        self.predictions: list[tuple[str, bool]] = []
        self.transcript = policy.transcript()
        self._policy, self._step = policy, 0
        self._offers = [offer_of(row, policy.menu) for row in transitions]
        first = transitions[0]
        self.transcript.begin(first.goal, first.observation, self._offers[0])

    def offered(self, format: EpisodeFormat) -> dict[tuple[int, ...], str]:
        """The actions compared now, by their ids: the one taken (it may fill a template) and all offered."""
        taken = self.transitions[self._step].action
        names = {format.action(taken): taken}
        for action in self._offers[self._step].actions:
            names.setdefault(format.action(action), action)
        return names

    def act(self, format: EpisodeFormat) -> tuple[list[int], int]:
        """Go on by one step: (ids before the raw next observation, how many ids that has)."""
        row = self.transitions[self._step]
        offer = self._offers[self._step]
        choice = self._policy.demonstrated(row.action, offer)
        reply, (start, end) = format.reply(row.next_observation)
        before = [*self.transcript.prompt, *choice.ids, *reply[:start]]
        self._step += 1
        following = self._offers[min(self._step, len(self._offers) - 1)]
        self.transcript.turn(choice, row.next_observation, row.goal, following)
        return before, end - start
