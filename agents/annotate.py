"""What an update made of a step, noted in the step's row, so that a run's recording says how each action was judged."""

from collections.abc import Sequence

from envrl.agents.samples import Sample


def annotate(samples: Sequence[Sample]) -> None:
    """Put into each row's ``extras`` its ``advantage``, the ``logprob`` of its action under the policy that acted, and
    its ``value`` where there is a critic.

    Args:
        samples: what an update learned from; their rows are changed in place.
    """
    for sample in samples:
        logprobs = [0.0] * len(sample.transitions)
        for decision in sample.tokens.decisions:
            logprobs[decision.step] += decision.logprob
        for step, row in enumerate(sample.transitions):
            row.extras["advantage"] = round(float(sample.advantages[step]), 5)
            row.extras["logprob"] = round(logprobs[step], 5)
            if sample.values is not None:
                row.extras["value"] = round(float(sample.values[step]), 5)
