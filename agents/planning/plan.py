"""The plan of a run: model, memory, batches, stages and prompts, without weights and without steps."""

from dataclasses import dataclass, replace
from pathlib import Path

import gymnasium

from envrl.agents.algorithms import ALGORITHMS
from envrl.agents.config import TrainConfig
from envrl.agents.demonstrate import recorded_texts
from envrl.agents.heads import Heads
from envrl.agents.planning.batch_plan import BatchPlan, gradient_copies, plan_batches, together
from envrl.agents.planning.layout import Layout
from envrl.agents.planning.memory import Part, Shape, memory
from envrl.agents.planning.openings import Lengths, Opening, measure, read_openings, texts_of
from envrl.agents.planning.preview import Preview, preview
from envrl.agents.planning.skeleton import build_skeleton
from envrl.agents.planning.stages import stages
from envrl.agents.policies.distributions import LARGEST_PART
from envrl.agents.policies.settings import PolicySettings, make_format, make_policy
from envrl.agents.tasks import make_envs, task_ids
from envrl.envs.errors import DataNotFound, MissingExtra
from envrl.envs.lookup import full_env_id

#: tasks whose openings are read
_TASKS = 16
#: time limit where an environment has none, and tokens of an opening that cannot be read
_STEPS, _PROMPT, _OBSERVATION = 100, 1024, 256


@dataclass(frozen=True)
class Plan:
    """What a run would need and do.

    model: its name. shape, layout, memory, batches, stages: see there. checkpoint_bytes: of weights,
    reference and moments on disk. preview: None where the environment cannot be made here.
    counted: token counts are exact. notes: what is missing here, in words.
    """

    model: str
    shape: Shape
    layout: Layout
    lengths: Lengths
    batches: BatchPlan
    memory: list[Part]
    checkpoint_bytes: int
    stages: list[str]
    preview: Preview | None
    counted: bool
    notes: list[str]


def make_plan(config: TrainConfig, layout: Layout) -> Plan:
    """The plan of a run.

    Args:
        config: its settings.
        layout: of its processes.

    Raises:
        DataNotFound: the configuration of the model cannot be had.
        WrongUse: there is no such environment, or it does not take these arguments.
    """
    openings, steps, notes = _openings(config)
    recordings = _recordings(config)
    recorded = [text for path in recordings for text in recorded_texts(path)]
    if config.model == "tiny" and config.init is None and not recorded and not openings:
        raise DataNotFound(
            f"`tiny` learns its words from the environment's text, of which there is none: {notes[0]}"
        )
    skeleton = build_skeleton(config, recorded or texts_of(openings))
    lm = skeleton.lm
    notes += skeleton.notes
    if lm.is_tiny and not recordings and config.init is None:
        notes.append(
            "the tokenizer learns its words from recorded episodes; here it knows those of first observations"
        )
    heads = Heads.build(
        lm,
        critic=ALGORITHMS[config.algorithm].critic,
        adapter=config.aux_head == "adapter",
        rank=config.aux_head_rank,
        seed=config.seed,
    )
    settings = PolicySettings.of(config)
    if settings.policy == "endpoint":  # the server samples; what is read and trained on is the same
        settings = replace(settings, policy="generate")
    policy = make_policy(lm, make_format(lm, settings), settings, config.temperature)
    lengths = measure(openings, policy) if openings else _assumed(config)
    shape = Shape.of(lm.model, heads)
    batches = plan_batches(config, lengths, layout, steps, lm.max_tokens)
    reference = config.kl > 0
    if config.groups < layout.processes:
        notes.append(
            f"{layout.processes - config.groups} of {layout.processes} processes have no group to play; "
            "set --groups to a multiple of the processes"
        )
    return Plan(
        model=config.model if config.init is None else str(config.init),
        shape=shape,
        layout=layout,
        lengths=lengths,
        batches=batches,
        memory=memory(
            shape,
            batches.work,
            layout,
            reference=reference,
            copies=gradient_copies(config),
            part=LARGEST_PART,
            together=together(config),
        ),
        checkpoint_bytes=_checkpoint_bytes(shape, lm.has_adapter, reference),
        stages=stages(config),
        preview=preview(openings[0], policy, config) if openings else None,
        counted=skeleton.counted,
        notes=notes,
    )


def _openings(config: TrainConfig) -> tuple[list[Opening], int, list[str]]:
    """Openings of the split, the environment's time limit, and why there are none where it cannot be made here."""
    try:
        (env,) = make_envs(config.env, 1, config.split, config.env_kwargs)
        steps = env.spec.max_episode_steps if env.spec else None
        openings = read_openings(env, task_ids(env), min(_TASKS, config.groups), config.seed)
        env.close()
        return openings, steps or _STEPS, []
    except (DataNotFound, MissingExtra) as error:
        steps = (
            config.env_kwargs.get("max_episode_steps")
            or gymnasium.spec(full_env_id(config.env)).max_episode_steps
        )
        return [], steps or _STEPS, [f"no prompt can be shown, and lengths are assumed: {error}"]


def _recordings(config: TrainConfig) -> list[Path]:
    """Recordings that are there already and that a tokenizer is learned from."""
    demonstrations = config.demonstrations or config.output / "demonstrations"
    return [path for path in (demonstrations, config.transitions) if path is not None and path.exists()]


def _assumed(config: TrainConfig) -> Lengths:
    observation = min(_OBSERVATION, config.max_observation_tokens)
    prompt = min(_PROMPT, config.max_prompt_tokens or _PROMPT)
    return Lengths((prompt,), observation, 32, 16, 400)


def _checkpoint_bytes(shape: Shape, adapter: bool, reference: bool) -> int:
    """An adapter is saved without the model that it was made for."""
    saved = shape.trainable if adapter else shape.parameters
    return 4 * saved * (2 if reference else 1) + 8 * shape.trainable
