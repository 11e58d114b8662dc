"""The training loop, top to bottom: demonstrate -> imitate -> (roll out -> advantages -> update) -> evaluate.

After EnvRL (arXiv 2606.17680): the policy loss and two auxiliary losses on the same rollouts in one update. Deviations
from the paper, made for models of 0.1 to 8 million parameters that are not pretrained: a supervised stage on expert
episodes comes first and trains both objectives too, so that they are warm when reinforcement starts; their gradient
is capped at a share of the policy's (`aux_cap`).

Everything random derives from (seed, stage, update), and a checkpoint is written between updates, so a run that was
killed and resumed gives the numbers of an uninterrupted one on a CPU with the same number of threads.
"""

import copy
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import torch

from envrl.agents import checkpoint, sharding
from envrl.agents.algorithms import ALGORITHMS
from envrl.agents.annotate import annotate
from envrl.agents.collect import collect
from envrl.agents.config import TrainConfig
from envrl.agents.demonstrate import record_demonstrations, recorded_texts
from envrl.agents.display import Bar, Display, results_table
from envrl.agents.evaluate import Evaluation, evaluate_policy
from envrl.agents.heads import Heads
from envrl.agents.imitation import Imitation, demonstrations
from envrl.agents.interrupts import deferred_interrupt
from envrl.agents.launch import is_launched, launch
from envrl.agents.metrics import rollout_metrics
from envrl.agents.models import LanguageModel, build_tiny, load_model, with_lora
from envrl.agents.objectives import coefficient
from envrl.agents.optimizers import Optimizers, learning_rate_factor
from envrl.agents.policies.endpoint import EndpointPolicy
from envrl.agents.policies.model_policy import ModelPolicy
from envrl.agents.policies.scripted import ImitablePolicy, Policy, RandomPolicy
from envrl.agents.policies.settings import PolicySettings, make_format, make_policy
from envrl.agents.policy_gradient import Learner
from envrl.agents.precision import launched_precision
from envrl.agents.processes import Processes
from envrl.agents.rollout import Episode, Task, rollout
from envrl.agents.run_folder import RunFolder
from envrl.agents.samples import Recorded, make_samples, recorded_samples, step_rewards
from envrl.agents.tasks import evaluation_tasks, make_pool, task_ids, training_tasks
from envrl.agents.trackers import Trackers
from envrl.agents.update import policy_update
from envrl.envs.errors import EnvRLError, WrongUse
from envrl.wrappers.recording import iter_episodes, shard_paths
from envrl.wrappers.shards import ShardWriter

#: first numbers of the seeds of each kind of randomness; a run's seed stands before them
_ROLLOUT, _TASKS, _UPDATE, _EVALUATION = 2, 3, 4, 5


#: after so many updates in a row without a sound episode a run stops
_HOPELESS = 3


class Interrupted(KeyboardInterrupt):
    """The run was interrupted and has written a checkpoint."""


def train(config: TrainConfig, display: Display | None = None) -> dict[str, Evaluation]:
    """Run or resume a training run.

    Args:
        config: its settings.
        display: where to show it; several processes show it on the terminal.

    Returns:
        Evaluations by stage: ``untrained``, ``imitation``, ``reinforcement`` (those that took place).

    Raises:
        DataNotFound: games, recordings or a model are missing.
        EnvRLError: ``output`` holds another run, or ``resume`` finds none.
        Interrupted: Ctrl-C; a checkpoint was written.
    """
    if config.processes > 1 and not is_launched():
        return launch(train, config, config.processes)
    if config.threads:
        torch.set_num_threads(config.threads)
    sharding.adopt_loading()
    processes = Processes.launched()
    with (
        display or Display(quiet=not processes.is_main) as shown,
        deferred_interrupt() as interrupted,
        launched_precision(),
    ):
        trainer = Trainer(config, shown, interrupted, processes)
        with closing(trainer.pool):
            return trainer.run()


class Trainer:
    """One run. Its state is the model, the optimisers, and a small dictionary that checkpoints hold.

    Args:
        config: settings.
        display: where to show the run.
        interrupted: asked between updates whether to stop.
        processes: that share the work, of which the main one writes; None: this one alone.
    """

    def __init__(
        self,
        config: TrainConfig,
        display: Display,
        interrupted: Callable[[], bool],
        processes: Processes | None = None,
    ) -> None:
        self.config, self.display, self._interrupted = config, display, interrupted
        self.processes = processes = processes or Processes()
        for recording in (config.demonstrations, config.transitions):
            if recording is not None:
                shard_paths(recording)  # what is missing is told before anything is made
        self.folder = RunFolder(config)
        #: stage: imitation, reinforcement or done; update: finished updates of the stage
        self.state: dict[str, Any] = {
            "stage": "imitation",
            "update": 0,
            "serial": 0,
            "env_steps": 0,
            "wall_s": 0.0,
            "results": [],
        }
        own = -(-config.groups // processes.count) * config.group_size
        self.pool = make_pool(config.rollout_workers, config.env, own, config.split, config.env_kwargs)
        self.ids = task_ids(self.pool.example)
        with processes.main_first():
            resumed = self.folder.open(processes.is_main)
        if resumed is not None:
            self.state = checkpoint.load_state(resumed)
        self._clock = time.monotonic()
        self._faulted = 0
        self.reference: LanguageModel | None = None
        self.lm = self._model(resumed)
        self.heads = self._heads(resumed)
        self.settings = PolicySettings.of(config)
        self.format = make_format(self.lm, self.settings)
        self.optimizers = self._optimizers()
        if resumed is not None:
            checkpoint.load_optimizers(resumed, self.optimizers)
            if processes.is_main:
                self.folder.drop_after(self.state)

    # ---- the run ---------------------------------------------------------------------------------------

    def run(self) -> dict[str, Evaluation]:
        """All stages that are still to do."""
        if self.state["stage"] == "imitation":
            if self.state["update"] == 0:
                self._evaluate("untrained")
            if (self.config.sft_episodes or self.config.demonstrations) and self.config.sft_updates:
                self._imitate()
                self._evaluate("imitation")
            self._enter("reinforcement")
        if self.state["stage"] == "reinforcement":
            if self.config.updates:
                self._reinforce()
                self._evaluate("reinforcement")
            self._enter("done")
        self._report()
        return {name: Evaluation.from_dict(result) for name, result, _, _ in self.state["results"]}

    def _imitate(self) -> None:
        config = self.config
        with self.processes.main_first():
            folder = self._demonstrations()
        episodes = list(iter_episodes(folder))
        if self.state["update"] == 0:
            self.state["env_steps"] = sum(map(len, episodes))
        data = demonstrations(episodes, self._policy(config.temperature))
        stage = Imitation(self.lm, self.heads, self.optimizers, data, self.format, config, self.processes)
        recent: list[dict[str, float]] = []
        with self.display.stage("Imitation", config.sft_updates, self.state["update"]) as bar:
            for index in range(self.state["update"], config.sft_updates):
                learned = stage.update(index)
                recent = [*recent[-19:], learned]
                self.state["update"] = index + 1
                if self.processes.is_main:
                    self.folder.imitation_metrics.append(
                        {"update": index + 1, "wall_s": self._wall(), **learned}
                    )
                bar.advance(note=_losses(recent))
                self._pause(every=20 * config.checkpoint_every)
        if recent:
            self.display.say(f"imitation: {config.sft_updates} updates, {_losses(recent)}")

    def _reinforce(self) -> None:
        config = self.config
        if config.kl and self.reference is None:
            self.reference = self._frozen_copy()
        recorded = self._recorded()
        policy = self._policy(config.temperature)
        learner = Learner(
            self.lm, self.reference, self.heads, self.optimizers, self.format, config, self.processes
        )
        with (
            ShardWriter(self.folder.transitions) as writer,
            Trackers(config.trackers if self.processes.is_main else (), config) as trackers,
            self.display.stage("Reinforcement", config.updates, self.state["update"]) as bar,
        ):
            for index in range(self.state["update"], config.updates):
                started = time.monotonic()
                chosen, episodes = self._collect(policy, index)
                rolled_out = time.monotonic()
                progress = index / config.updates
                factor = coefficient(config.aux_schedule, progress)
                samples = make_samples(chosen, config, self.lm, self.heads)
                learned = policy_update(
                    learner,
                    samples,
                    recorded,
                    aux_factor=factor if config.state_prediction or config.inverse_dynamics else 0.0,
                    recorded_share=config.transitions_share
                    * coefficient(config.transitions_schedule, progress),
                    lr_factor=learning_rate_factor(index, config.updates, config.warmup, config.lr_floor),
                    rng=self._rng(_UPDATE, index),
                )
                annotate(samples)
                if self.processes.is_main:
                    for episode in episodes:
                        writer.extend(episode.transitions)
                self.state["update"] = index + 1
                self.state["env_steps"] += sum(len(e.transitions) for e in episodes)
                row = {
                    **rollout_metrics(episodes),
                    "rollout/redrawn": (len(episodes) - len(chosen)) // config.group_size,
                    **learned,
                    "update": index + 1,
                    "env_steps": self.state["env_steps"],
                    "aux/lambda": factor * max(config.state_prediction, config.inverse_dynamics),
                    "time/rollout_s": rolled_out - started,
                    "time/update_s": time.monotonic() - rolled_out,
                }
                if self._evaluation_due(index + 1):
                    row["eval/success_rate"] = self._measure("evaluation")[0].success_rate
                row["wall_s"] = self._wall()
                if self.processes.is_main:
                    self.folder.metrics.append(row)
                    trackers.log(row)
                self.display.update(row)
                bar.advance()
                self._pause(every=config.checkpoint_every, before=writer.flush)

    def _collect(self, policy: ModelPolicy, index: int) -> tuple[list[Episode], list[Episode]]:
        """The episodes of an update: (those to learn from, all that were played)."""
        config = self.config

        def draw(groups: int, number: int) -> list[Task]:
            path = (_TASKS, index, number) if number else (_TASKS, index)
            return training_tasks(self.ids, groups, config.group_size, self._rng(*path))

        def play(tasks: Sequence[Task], number: int) -> list[Episode]:
            again = f"/redraw-{number}" if number else ""
            own = self.processes.slice(len(tasks), config.group_size)
            with sharding.whole(self.lm.model):
                played = rollout(
                    self.pool,
                    tasks[own],
                    policy,
                    (config.seed, _ROLLOUT, index, number) if number else (config.seed, _ROLLOUT, index),
                    run_id=f"{self.folder.path.name}-{config.seed}/update-{index}{again}",
                    split=config.split,
                    label="learner",
                    max_tokens=self._max_tokens,
                    timeout=config.env_timeout,
                    first=own.start,
                )
            return self.processes.gather(played)

        self.lm.model.eval()
        if isinstance(policy, EndpointPolicy) and config.endpoint_sync == "lora":
            with self.processes.main_first():
                if self.processes.is_main:
                    policy.publish(
                        self.folder.path / "published", f"{self.folder.path.name}-{config.seed}-{index}"
                    )
        collected = collect(
            play,
            draw,
            config.groups,
            config.effective("redraws"),
            config.gamma,
            lambda episode: step_rewards(episode.transitions, config),
        )
        self.lm.model.train()
        self._refuse_faults(collected[1])
        return collected

    # ---- evaluation ------------------------------------------------------------------------------------

    def _evaluate(self, stage: str) -> None:
        if not self.config.eval_episodes or any(name == stage for name, *_ in self.state["results"]):
            return
        result, _ = self._measure(f"Evaluation: {stage}")
        self.state["results"].append([stage, result.to_dict(), self.state["env_steps"], self._wall()])
        self.display.say(
            f"{stage}: {result.success_rate:.1%} of {result.n} held-out episodes "
            f"({result.low:.1%} - {result.high:.1%}), {result.mean_steps:.1f} steps"
        )
        self._checkpoint(keep=True)

    def _evaluation_due(self, done: int) -> bool:
        """Whether an evaluation comes after so many updates; the one after the last belongs to the stage."""
        config = self.config
        wanted = bool(config.eval_episodes and config.eval_every) and done < config.updates
        return wanted and done % config.eval_every == 0

    def _measure(self, title: str) -> tuple[Evaluation, list[Episode]]:
        config = self.config
        own = min(128, -(-config.eval_episodes // self.processes.count))
        pool = make_pool(config.rollout_workers, config.env, own, config.eval_split, config.env_kwargs)
        tasks = evaluation_tasks(task_ids(pool.example), config.eval_episodes)
        policy = self._policy(config.eval_temperature)
        count = len(tasks[self.processes.slice(len(tasks))])
        with closing(pool), self.display.stage(title, count) as bar, sharding.whole(self.lm.model):
            return evaluate_policy(
                policy,
                pool,
                tasks,
                self._seed(_EVALUATION),
                _episodes_to(bar),
                config.env_timeout,
                self._max_tokens,
                processes=self.processes,
            )

    def _report(self) -> None:
        results = [(name, Evaluation.from_dict(r), steps, s) for name, r, steps, s in self.state["results"]]
        if results:
            self.display.console.print(results_table(results))
        for title, path in self.folder.contents():
            self.display.say(f"{title}: {path}")

    # ---- what the run stands on ------------------------------------------------------------------------

    def _model(self, resumed: Path | None) -> LanguageModel:
        config = self.config
        if resumed is not None:
            held = checkpoint.reference_folder(resumed)
            if held is not None:
                self.reference = self._reference(held)
            lm = load_model(str(resumed / "model"))
        elif config.init is not None:
            lm = load_model(str(checkpoint.model_folder(config.init)))
        elif config.model == "tiny":
            with self.processes.main_first():
                folder = self._demonstrations()
            sources = [folder, *([config.transitions] if config.transitions else [])]
            lm = build_tiny((text for source in sources for text in recorded_texts(source)), seed=config.seed)
        else:
            lm = load_model(config.model)
        if config.lora_rank and not lm.has_adapter:
            lm = with_lora(lm, config.lora_rank, config.lora_alpha, config.seed)
        lm.model.train()
        return self._placed(lm)

    def _optimizers(self) -> Optimizers:
        config = self.config
        if self.state["stage"] == "imitation":
            muon_lr = 0.0 if self.lm.has_adapter else config.sft_muon_lr  # Muon is for whole matrices
            return Optimizers(self.lm.model, config.sft_lr, muon_lr, 0.01, self.heads)
        return Optimizers(self.lm.model, config.lr, heads=self.heads)

    def _heads(self, resumed: Path | None) -> Heads:
        """The critic and the objectives' output layer, as the settings ask; those of a checkpoint where it has them."""
        config = self.config
        heads = Heads.build(
            self.lm,
            critic=ALGORITHMS[config.algorithm].critic,
            adapter=config.aux_head == "adapter",
            rank=config.aux_head_rank,
            seed=config.seed,
        )
        if resumed is not None:
            heads.load(resumed)
        elif config.init is not None:
            heads.load(checkpoint.model_folder(config.init).parent)
        return heads

    def _demonstrations(self) -> Path:
        """Episodes to imitate; without a supervised stage, random play that a tokenizer is learned from."""
        config = self.config
        if config.demonstrations is not None:
            return config.demonstrations
        policy: Policy
        if config.sft_episodes:
            folder, label, policy, episodes = (
                "demonstrations",
                "imitable",
                ImitablePolicy(),
                config.sft_episodes,
            )
        else:
            folder, label, policy, episodes = "random_play", "random", RandomPolicy(by_verb=True), 200
        if not (self.folder.path / folder).exists():
            with self.display.stage(f"Episodes of the {label} policy", episodes) as bar:
                won = record_demonstrations(
                    self.pool.example,
                    self.folder.path / folder,
                    policy,
                    episodes,
                    config.seed,
                    label=label,
                    split=config.split,
                    progress=bar.advance,
                )
            self.display.say(f"{folder}: the {label} policy solved {won} of {episodes} tasks")
        return self.folder.path / folder

    def _recorded(self) -> list[Recorded]:
        if self.config.transitions is None:
            return []
        return recorded_samples(iter_episodes(self.config.transitions), self._policy(self.config.temperature))

    def _policy(self, temperature: float) -> ModelPolicy:
        return make_policy(self.lm, self.format, self.settings, temperature)

    @property
    def _max_tokens(self) -> int | None:
        return self.config.max_episode_tokens or self.lm.max_tokens

    def _refuse_faults(self, episodes: Sequence[Episode]) -> None:
        """Faults cost their episodes; a run in which there is nothing else for long is at an end."""
        self._faulted = self._faulted + 1 if all(e.fault for e in episodes) else 0
        if self._faulted:
            self.display.say(f"all {len(episodes)} episodes of this update are faulted: {episodes[0].fault}")
        if self._faulted == _HOPELESS:
            raise EnvRLError(
                f"every episode of {_HOPELESS} updates is faulted ({episodes[0].fault}); go on with --resume "
                "when this is mended"
            )

    def _frozen_copy(self) -> LanguageModel:
        if self.lm.is_sharded:  # and cannot be copied; the stage began with a checkpoint
            self.processes.wait()
            return self._reference(checkpoint.model_folder(self.folder.path))
        model = copy.deepcopy(self.lm.model).requires_grad_(False).eval()
        return LanguageModel(model, self.lm.tokenizer, self.lm.source)

    def _reference(self, folder: Path) -> LanguageModel:
        lm = self._placed(load_model(str(folder)))
        lm.model.requires_grad_(False).eval()
        return lm

    def _placed(self, lm: LanguageModel) -> LanguageModel:
        """On this process's device, split over the processes if the launcher wants it."""
        lm.to(self.processes.device)
        if self.processes.count > 1 and sharding.is_wanted():
            if self.config.aux_mode == "inline" and self.config.aux_cap:
                raise WrongUse(
                    "with sharded layers a forward goes backward once: choose aux_mode pass or rows, or aux_cap 0"
                )
            sharding.shard(lm.model, self.processes.count)
        return lm

    # ---- checkpoints -----------------------------------------------------------------------------------

    def _enter(self, stage: str) -> None:
        self.state |= {"stage": stage, "update": 0}
        self.optimizers = self._optimizers()
        self._checkpoint(keep=stage == "done")

    def _pause(self, every: int, before: Callable[[], None] = lambda: None) -> None:
        """Between two updates: a checkpoint when one is due, and the end of an interrupted run."""
        stop = self.processes.any(self._interrupted())
        if stop or self.state["update"] % every == 0:
            before()
            self._checkpoint()
        if stop:
            raise Interrupted(
                f"interrupted; go on with: envrl train --config {self.folder.path}/config.json --resume"
            )

    def _checkpoint(self, keep: bool = False) -> None:
        state = self.state
        state["serial"] += 1
        state["wall_s"] = self._wall()
        self._clock = time.monotonic()
        # what is split is put together by all processes
        weights = [None if lm is None else sharding.full_state(lm.model) for lm in (self.lm, self.reference)]
        optimizers = self.optimizers.state_dict()
        if not self.processes.is_main:
            return
        name = f"{state['serial']:06d}-{state['stage']}-{state['update']}"
        checkpoint.save_checkpoint(
            self.folder.checkpoints / name,
            self.lm,
            optimizers,
            {**state, "shards": self.folder.shards(), "keep": keep},
            self.reference,
            self.heads,
            weights,
        )
        checkpoint.prune(self.folder.checkpoints, self.config.keep_checkpoints)

    def _wall(self) -> float:
        return self.state["wall_s"] + time.monotonic() - self._clock

    def _seed(self, *path: int) -> int:
        return int(np.random.SeedSequence([self.config.seed, *path]).generate_state(1)[0])

    def _rng(self, *path: int) -> np.random.Generator:
        return np.random.default_rng([self.config.seed, *path])


def _losses(recent: Sequence[dict[str, float]]) -> str:
    """Means of the newest supervised losses in words."""
    means = {key: np.mean([m[key] for m in recent if key in m]) for key in recent[-1]}
    return ", ".join(
        f"{key.removeprefix('loss/').replace('_', ' ')} {value:.3f}" for key, value in means.items()
    )


def _episodes_to(bar: Bar) -> Callable[[int, int], None]:
    return lambda ended, _: bar.advance(ended)
