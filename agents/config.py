"""`TrainConfig`: every setting of a training run, one documented field each."""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from envrl.agents.advantages import AdvantageConfig
from envrl.agents.algorithms import ALGORITHMS
from envrl.agents.choices import (
    Algorithm,
    ContextKind,
    Mode,
    PolicyKind,
    Reduction,
    ResponseKind,
    RewardKind,
    Schedule,
    Targets,
    TokenLoss,
)
from envrl.agents.workers import LOCAL, ray_actors

#: (smallest value, how that is said, settings that it holds for)
_BOUNDS = (
    (
        1,
        "must be at least 1",
        (
            "groups",
            "group_size",
            "epochs",
            "minibatches",
            "batch_tokens",
            "sft_batch_tokens",
            "checkpoint_every",
            "loss_length",
            "processes",
            "keep_checkpoints",
            "max_response_tokens",
            "max_observation_tokens",
        ),
    ),
    (
        0,
        "must be >= 0",
        (
            "updates",
            "sft_episodes",
            "sft_updates",
            "eval_episodes",
            "eval_every",
            "eval_temperature",
            "history",
            "max_prompt_tokens",
            "max_episode_tokens",
            "env_timeout",
            "lora_rank",
            "aux_head_rank",
            "aux_history",
            "aux_episodes",
            "aux_rows",
            "threads",
        ),
    ),
    (
        0,
        "is a weight and must be >= 0",
        ("state_prediction", "inverse_dynamics", "sft_state_prediction", "sft_inverse_dynamics"),
    ),
)


@dataclass(frozen=True)
class TrainConfig:
    """Settings of `envrl train`. Defaults suit `tiny` on a CPU; see docs/training.md for larger models."""

    env: str = "EnvRL/ALFWorld-v0"
    """Gymnasium id of the environment to learn in."""
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the environment, as JSON (``{"games": "official"}``)."""
    split: str = "train"
    """Split that training tasks are drawn from."""
    model: str = "tiny"
    """``tiny``, ``smollm2-135m`` (`make data-packages`), or a folder or hub name of a causal language model."""
    init: Path | None = None
    """Start from the weights and tokenizer of this checkpoint folder."""
    lora_rank: int = 0
    """Train a LoRA adapter of this rank beside frozen weights; 0 trains all weights."""
    lora_alpha: float = 0.0
    """The adapter's factor is ``lora_alpha / lora_rank``; 0 stands for twice the rank."""
    output: Path = Path("runs/train")
    """Folder for metrics, checkpoints, transitions and the configuration."""
    resume: bool = False
    """Go on from the newest checkpoint in ``output``."""
    seed: int = 0
    """Every random choice of the run derives from it."""

    policy: PolicyKind = "constrained"
    """How probabilities become actions. ``constrained``: token softmax over the trie of admissible actions. ``score``:
    softmax over their total log-probabilities. ``generate``: free text. ``endpoint``: free text written by a server."""
    context: ContextKind = "concat"
    """``concat``: an episode is one growing sequence. ``step``: a row a step, with the last turns in its prompt."""
    history: int = 2
    """Turns before the present one that a prompt shows under ``context=step``."""
    response: ResponseKind = "bare"
    """What a chat model is asked to write: the ``bare`` action, or thought and action between ``tags``."""
    list_actions: bool | None = None
    """Whether messages to a chat model list the possible actions; None: where it generates freely."""
    instructions: str | None = None
    """System message for a chat model; None has one that suits ``response``."""
    score_per_token: bool = False
    """Divide an action's log-probability by its number of tokens (``score``)."""
    max_response_tokens: int = 64
    """Longest response, and longest blank of an open action."""
    max_observation_tokens: int = 1024
    """Longer observations are cut."""
    max_prompt_tokens: int = 0
    """A prompt of ``context=step`` that would be longer shows fewer of the last turns; 0: no limit."""
    max_episode_tokens: int = 0
    """A longer episode is truncated; 0: what the model was made for."""
    env_timeout: float = 300.0
    """Seconds after which an environment that does not answer costs its episode; 0 waits for ever."""
    rollout_workers: str = LOCAL
    """Where environments are stepped: ``local``, in this process; ``ray:N``, in N Ray actors on this machine or the
    machines of a cluster (extra ``ray``)."""
    endpoint: str = ""
    """Base URL of an OpenAI-compatible server (``http://localhost:8000/v1``), for ``policy=endpoint``."""
    endpoint_model: str = ""
    """The model's name there."""
    endpoint_timeout: float = 120.0
    """Seconds that a request to it may take."""
    endpoint_sync: Literal["none", "lora"] = "none"
    """``lora``: the server loads the adapter anew before each rollout (vLLM, runtime LoRA, a shared file system)."""
    algorithm: Algorithm = "gigpo"
    """Advantage estimator, with what its paper says of the loss."""
    exclude_actions: tuple[str, ...] = ("help", "inventory", "look")
    """Admissible actions that the policy is not offered (unless nothing else is left)."""
    temperature: float = 1.0
    """Sampling temperature of training rollouts."""

    sft_episodes: int = 2000
    """Expert episodes for the supervised stage; 0 leaves the stage out."""
    demonstrations: Path | None = None
    """Recorded episodes to imitate (`envrl record --policy imitable`) instead of playing the expert now."""
    sft_updates: int = 350
    """Updates of the supervised stage."""
    sft_batch_tokens: int = 4000
    """Tokens of a supervised batch."""
    sft_lr: float = 3e-3
    """AdamW's learning rate in the supervised stage (vectors and embeddings; all weights if sft_muon_lr is 0)."""
    sft_muon_lr: float = 0.02
    """Muon's learning rate for weight matrices in the supervised stage; 0 trains them, as adapters, with AdamW."""
    sft_state_prediction: float = 0.5
    """Weight of state prediction in the supervised stage."""
    sft_inverse_dynamics: float = 0.5
    """Weight of inverse dynamics in the supervised stage."""

    updates: int = 60
    """Updates of the reinforcement stage; 0 leaves the stage out."""
    groups: int = 8
    """Tasks of an update."""
    group_size: int = 8
    """Episodes of each task."""
    gamma: float = 0.96
    """Discount of an episode's return (a shorter success is worth more)."""
    step_gamma: float = 0.96
    """Discount of the return from a step on (GiGPO, REINFORCE++, PPO)."""
    step_weight: float = 1.0
    """Weight of GiGPO's step advantage."""
    anchor: Literal["observation", "state_key"] = "observation"
    """What makes two steps of a group comparable (GiGPO)."""
    normalize_std: bool = True
    """Divide advantages by the standard deviation of the group (REINFORCE++, PPO: of the batch)."""
    leave_one_out: bool = False
    """Compare an episode with the mean of the others of its group instead of the mean of all."""
    redraws: int | None = None
    """Draw groups whose episodes all ended alike anew, at most this many times an update; None as the algorithm has it
    (DAPO: 3)."""
    gae_lambda: float = 0.95
    """PPO's trade of the critic's bias against the return's variance."""
    bootstrap: bool = False
    """Ask the critic for the value of the state at which an episode ran out of steps, instead of counting it as 0."""
    value_weight: float = 0.5
    """Weight of the critic's loss (PPO)."""
    value_clip: float = 0.2
    """Range in which the critic's values may move in an update (PPO); 0 lets them."""
    reward: RewardKind = "environment"
    """``environment``: its rewards, which may be for a part of the task; ``success``: 1 for the step that solves it."""
    reward_scale: float = 1.0
    """Factor on rewards."""
    invalid_penalty: float = 0.1
    """Subtracted from the reward of a step whose action was malformed or inadmissible."""
    epochs: int = 1
    """Passes over the episodes of an update (GRPO's μ)."""
    minibatches: int = 4
    """Optimiser steps of a pass."""
    batch_tokens: int = 8000
    """Tokens of a forward and backward pass."""
    lr: float = 3e-4
    """AdamW's learning rate in the reinforcement stage."""
    warmup: int = 4
    """Updates over which the learning rate rises to ``lr``; from there it falls along a cosine."""
    lr_floor: float = 0.1
    """Share of ``lr`` that is left at the end of the reinforcement stage; 1 keeps it constant."""
    clip: float = 0.2
    """Range of the clipped surrogate, below 1 and above."""
    clip_high: float | None = None
    """Another range above 1 (clip-higher); None as the algorithm has it (DAPO: 0.28)."""
    dual_clip: float = 3.0
    """Bound on the loss of an action with a negative advantage; 0 lifts it."""
    reduction: Reduction | None = None
    """``token``: mean over decisions; ``sequence``: over episodes of each one's mean; ``constant``: sum over
    decisions, divided by episodes times ``loss_length``. None as the algorithm has it (Dr. GRPO: constant)."""
    loss_length: int = 100
    """Decisions that an episode is divided by under the reduction ``constant``, however many it has."""
    kl: float = 0.0
    """Weight of the divergence from the policy that the reinforcement stage started with."""
    kl_unbiased: bool = False
    """Multiply the divergence by the ratio to the acting policy, which makes its gradient that of the true divergence
    (arXiv 2512.02556); as published GRPO does not."""
    entropy: float = 0.0
    """Weight of an entropy bonus."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm."""

    state_prediction: float = 0.2
    """Weight of state prediction in the reinforcement stage."""
    inverse_dynamics: float = 0.2
    """Weight of inverse dynamics in the reinforcement stage."""
    aux_schedule: Schedule = "cosine"
    """How both weights fall over the reinforcement stage."""
    aux_mode: Mode = "pass"
    """Where state prediction comes from: ``inline``, the policy's own forward; ``pass``, the same episodes in a forward
    of their own; ``rows``, single steps in rows of their own."""
    aux_history: int = 2
    """Turns that stand before the predicted one in a row of ``rows``."""
    aux_head: Literal["lm", "adapter"] = "lm"
    """``lm``: the model's output layer; ``adapter``: one of the objectives' own over the shared backbone."""
    aux_head_rank: int = 16
    """Rank of the adapter's change to the model's output layer; 0 gives it a full layer."""
    aux_loss: TokenLoss = "cross_entropy"
    """Loss of a target token; ``clipped_mae`` is one minus its probability and leaves out tokens that seem noise."""
    aux_mae_clip: float = 0.95
    """Tokens whose ``clipped_mae`` is above it have no gradient."""
    aux_entropy_share: float = 1.0
    """State prediction learns from this share of an episode's steps: those where the policy was least sure."""
    aux_by_return: bool = False
    """Weight each episode's steps by one minus the mean return of its group."""
    aux_targets: Targets = "true"
    """``shuffled`` permutes the next observations: the placebo control, in both stages."""
    aux_cap: float = 0.5
    """The objectives' gradient norm is at most this share of the policy gradient's; 0 lifts the cap."""
    aux_episodes: int = 4
    """Episodes of a minibatch that the objectives learn from (steps under ``context=step``); 0: all of them."""
    aux_rows: int = 16
    """Inverse-dynamics rows of a minibatch, and of a supervised batch."""
    transitions: Path | None = None
    """Recorded transitions that the objectives learn from too."""
    transitions_share: float = 0.5
    """Share of the objectives' episodes that comes from ``transitions``."""
    transitions_schedule: Schedule = "constant"
    """How that share falls over the reinforcement stage."""

    eval_episodes: int = 300
    """Held-out episodes of an evaluation; 0 evaluates nothing."""
    eval_split: str = "valid_unseen"
    """Split of the evaluation."""
    eval_every: int = 0
    """Evaluate after this many updates too (always after each stage)."""
    eval_temperature: float = 0.4
    """Sampling temperature of evaluations; 0 takes the most probable action."""
    checkpoint_every: int = 5
    """Write a checkpoint after this many updates (of the supervised stage: after 20 times as many)."""
    keep_checkpoints: int = 2
    """Older checkpoints are removed; the last one of each stage is kept."""
    threads: int = 0
    """Threads of PyTorch in each process; 0 leaves its choice."""
    trackers: tuple[str, ...] = ()
    """Experiment trackers that get the metrics too, by accelerate's names: ``tensorboard``, ``wandb``, ..."""
    processes: int = 1
    """Training processes on this machine, which share rollouts and updates. On several GPUs or machines `accelerate
    launch` starts them instead."""

    def __post_init__(self) -> None:
        for least, rule, names in _BOUNDS:
            for name in names:
                if getattr(self, name) < least:
                    raise ValueError(f"{name} {rule}, got {getattr(self, name)}")
        if self.temperature <= 0:
            raise ValueError(
                f"temperature must be above 0 to learn from what was sampled, got {self.temperature}"
            )
        if self.policy == "endpoint" and self.updates and self.temperature != 1.0:
            raise ValueError(
                "temperature must be 1 with policy=endpoint: servers report log-probabilities at 1, "
                f"got {self.temperature}"
            )
        for name in ("transitions_share", "aux_mae_clip", "aux_entropy_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in 0 .. 1, got {getattr(self, name)}")
        ray_actors(self.rollout_workers)
        if self.updates and self.group_size < 2 and ALGORITHMS[self.algorithm].compares_groups:
            raise ValueError(
                f"group_size must be at least 2 with {self.algorithm}: advantages are relative to the rest of the group"
            )

    @property
    def advantage(self) -> AdvantageConfig:
        """The options of the advantage estimator."""
        return AdvantageConfig(
            self.gamma,
            self.step_gamma,
            self.step_weight,
            self.normalize_std,
            self.leave_one_out,
            self.gae_lambda,
        )

    def effective(self, name: Literal["reduction", "clip_high", "redraws"]) -> Any:
        """A setting of the run, or the algorithm's own where the run makes none."""
        given = getattr(self, name)
        return getattr(ALGORITHMS[self.algorithm], name) if given is None else given

    def to_json(self) -> str:
        """The settings as JSON; paths as strings."""
        return json.dumps(dataclasses.asdict(self), indent=2, default=str) + "\n"
