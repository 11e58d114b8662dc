"""The names that settings choose among. Imports nothing, so that `envrl train --help` need not load PyTorch."""

from typing import Literal

Algorithm = Literal["grpo", "gigpo", "rloo", "dr_grpo", "dapo", "reinforce++", "reinforce++_baseline", "ppo"]

#: how losses of decisions become one: see `envrl.agents.losses.decision_weights`
Reduction = Literal["token", "sequence", "constant"]

#: see `envrl.agents.policies`
PolicyKind = Literal["constrained", "score", "generate", "endpoint"]

#: an episode as one sequence, or a row a step: see `envrl.agents.transcripts`
ContextKind = Literal["concat", "step"]

#: what a chat model writes: see `envrl.agents.chat_texts`
ResponseKind = Literal["bare", "tags"]

#: what a policy learns from: see `envrl.agents.samples.step_rewards`
RewardKind = Literal["environment", "success"]

#: of the objectives: see `envrl.agents.objectives`
Targets = Literal["true", "shuffled"]
Schedule = Literal["cosine", "linear", "constant"]
Mode = Literal["pass", "inline", "rows"]
TokenLoss = Literal["cross_entropy", "clipped_mae"]
