"""The episodes of one update: a rollout, and anew those groups that could not teach anything."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from envrl.agents.rollout import Episode, Task

#: plays tasks; told which round of the update it is (0 is the first)
Play = Callable[[Sequence[Task], int], list[Episode]]
#: the rewards of an episode's steps that are learned from
Rewards = Callable[[Episode], Sequence[float]]
#: draws the tasks of so many groups, for a round
Draw = Callable[[int, int], list[Task]]


def has_information(episodes: Sequence[Episode], gamma: float, rewards: Rewards) -> bool:
    """Whether the sound episodes of a group differ in their discounted returns."""
    returns = [
        sum(r * gamma**t for t, r in enumerate(rewards(e)))
        for e in episodes
        if e.fault is None and e.transitions
    ]
    return len(returns) > 1 and max(returns) - min(returns) > 1e-6


def collect(
    play: Play, draw: Draw, groups: int, redraws: int, gamma: float, rewards: Rewards
) -> tuple[list[Episode], list[Episode]]:
    """Play an update's tasks; groups without information are replaced by groups of new tasks (DAPO's dynamic sampling).

    Args:
        play: plays tasks.
        draw: draws tasks.
        groups: how many groups.
        redraws: at most this many further rounds; 0 takes the first rollout as it is.
        gamma: discount of the returns that are compared.
        rewards: of the steps that they are made of.

    Returns:
        (episodes to learn from, all episodes played). Group numbers of the former are those of the places they fill;
        places that no round could fill keep their first group.
    """
    first = play(draw(groups, 0), 0)
    everything = list(first)
    places = _groups(first)
    for number in range(1, redraws + 1):
        empty = [g for g, episodes in places.items() if not has_information(episodes, gamma, rewards)]
        if not empty:
            break
        played = play(draw(len(empty), number), number)
        everything += played
        good = [e for e in _groups(played).values() if has_information(e, gamma, rewards)]
        for place, episodes in zip(empty, good, strict=False):
            for episode in episodes:
                episode.group = place
            places[place] = episodes
    return [e for episodes in places.values() for e in episodes], everything


def _groups(episodes: Sequence[Episode]) -> dict[int, list[Episode]]:
    groups: dict[int, list[Episode]] = defaultdict(list)
    for episode in episodes:
        groups[episode.group].append(episode)
    return dict(groups)
