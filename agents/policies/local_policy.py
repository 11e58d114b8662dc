"""What policies that sample from a local model have in common."""

from envrl.agents.models import LanguageModel
from envrl.agents.prompts import ActionMenu, EpisodeFormat
from envrl.agents.transcripts import Context, Transcript


class LocalPolicy:
    """The model, how an episode becomes its tokens, and how it is sampled from.

    Args:
        lm: the model.
        format: tokens of an episode.
        menu: which admissible actions are offered.
        temperature: of the softmax; 0 takes the most probable.
        context: what a prompt shows.
        longest: most tokens that are written freely at a time.
    """

    def __init__(
        self,
        lm: LanguageModel,
        format: EpisodeFormat,
        menu: ActionMenu | None,
        temperature: float,
        context: Context | None,
        longest: int,
    ) -> None:
        self.lm, self.format, self.menu, self.temperature = lm, format, menu or ActionMenu(), temperature
        self.context, self.longest = context or Context(), longest

    def transcript(self) -> Transcript:
        """An empty transcript for an episode of this policy."""
        return self.context.transcript(self.format)
