import json

import gymnasium
import pytest
from foreign_env import ForeignEnv
from toy_env import ToyEnv

from envrl.envs.errors import DataNotFound, InvalidData
from envrl.wrappers import RecordTransitions, ShardWriter, Transition
from envrl.wrappers.minari_export import export_minari

minari = pytest.importorskip("minari", reason="minari is not installed (extra `minari`)")

pytestmark = pytest.mark.filterwarnings("ignore:.* is set to None:UserWarning")

EXPERT = ["go to müll room", "look", "take coin", "go to hall", "drop coin"]


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "store"))
    return tmp_path / "store"


@pytest.fixture
def recording(tmp_path):
    env = RecordTransitions(gymnasium.make("Toy/Coin-v0", tasks=5), tmp_path / "recording", max_rows=4)
    for actions in (EXPERT, ["look", "dance", "note[\udcff €]"]):
        env.reset(options={"task_id": "coin-3"})
        for action in actions:
            env.step(action)
    env.close()
    return tmp_path / "recording"


def test_a_recording_becomes_a_dataset_that_minari_reads(recording, store):
    export_minari(recording, "envrl/toy-v0", author="me", description="coins")
    assert (store / "envrl" / "toy-v0").is_dir()
    dataset = minari.load_dataset("envrl/toy-v0")
    assert (dataset.total_episodes, dataset.total_steps) == (2, 8)
    won, abandoned = dataset.iterate_episodes()
    assert won.actions == EXPERT
    assert won.observations == [
        "You are in the hall. A coin is hidden somewhere.", "You are in the müll room.", "A coin!",
        "You hold the coin.", "You are in the hall.", "The coin is home.",
    ]  # fmt: skip
    assert won.rewards.tolist() == [0, 0, 0, 0, 1] and won.terminations.tolist() == [False] * 4 + [True]
    assert not won.truncations.any()
    assert won.infos["is_success"].tolist() == [0, 0, 0, 0, 0, 1]
    assert won.infos["action_status"].tolist() == ["none"] + ["ok"] * 5
    assert won.infos["goal"].tolist() == ["bring the coin to the hall"] * 6
    assert json.loads(won.infos["admissible_actions"][2])[-1] == "take coin"
    assert len(set(won.infos["state_key"])) == 6
    # The second episode was abandoned; its last action is no UTF-8.
    assert abandoned.actions == ["look", "dance", "note[\U0010ffffdcff €]"]
    assert abandoned.truncations.tolist() == [False, False, True]
    assert abandoned.infos["action_status"].tolist() == ["none", "ok", "malformed", "ok"]
    metadata = list(dataset.storage.get_episode_metadata([0, 1]))
    assert [m["options"]["task_id"] for m in metadata] == ["coin-3", "coin-3"]


def test_the_environment_comes_back(recording):
    env = export_minari(recording, "toy-v1").recover_environment()
    assert isinstance(env.unwrapped, ToyEnv) and env.unwrapped.tasks == 5


def test_episodes_without_an_end_can_be_left_out(recording):
    assert export_minari(recording, "toy-v2", complete_only=True).total_episodes == 1


def test_facts_that_a_foreign_environment_does_not_give(tmp_path):
    env = RecordTransitions(ForeignEnv(), tmp_path / "recording")
    env.reset()
    env.step("a")
    env.close()
    dataset = export_minari(tmp_path / "recording", "foreign-v0")
    (episode,) = dataset.iterate_episodes()
    assert episode.infos["is_success"].tolist() == [-1, -1] and episode.infos["state_key"].tolist() == [
        "",
        "",
    ]
    assert episode.infos["admissible_actions"].tolist() == ["", ""]
    assert dataset.env_spec is None


def test_many_episodes(tmp_path):
    with ShardWriter(tmp_path / "many") as writer:
        for n in range(260):
            writer.append(
                Transition(
                    episode_id=str(n), observation="o", action=str(n), next_observation="n", terminated=True
                )
            )
    dataset = export_minari(tmp_path / "many", "many-v0")
    assert dataset.storage.metadata["dataset_size"] > 0.1  # MB, of 260 small files
    assert [episode.actions for episode in dataset.iterate_episodes()] == [[str(n)] for n in range(260)]


def test_what_cannot_be_exported_is_told(recording, tmp_path):
    with pytest.raises(ValueError, match="expected a dataset id like"):
        export_minari(recording, "toy")
    with pytest.raises(DataNotFound):
        export_minari(tmp_path / "absent", "toy-v0")
    with ShardWriter(tmp_path / "open") as writer:
        writer.append(Transition(episode_id="e", observation="o", action="a", next_observation="n"))
    with pytest.raises(InvalidData, match="episodes with an end"):
        export_minari(tmp_path / "open", "toy-v0", complete_only=True)
    with ShardWriter(tmp_path / "gap") as writer:
        for step in (0, 2):
            writer.append(
                Transition(episode_id="e", step=step, observation="o", action="a", next_observation="o")
            )
    with pytest.raises(InvalidData, match="episode e has a gap: step 2 does not go on from step 0"):
        export_minari(tmp_path / "gap", "toy-v0")
