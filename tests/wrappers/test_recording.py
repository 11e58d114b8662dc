import itertools
import shutil

import gymnasium
import polars
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from toy_env import ToyEnv

from envrl.envs.errors import DataNotFound, InvalidData
from envrl.wrappers import (
    SCHEMA,
    RecordTransitions,
    ShardWriter,
    Transition,
    iter_episodes,
    read_env_spec,
    read_table,
    read_transitions,
)
from envrl.wrappers.recording import shard_paths
from envrl.wrappers.transition import to_table


def row(step=0, episode="e", **fields):
    return Transition(
        episode_id=episode, step=step, observation="o", action="a", next_observation="n", **fields
    )


@pytest.fixture
def recording(tmp_path):
    """Two episodes of the toy environment, won and abandoned, in three shards."""
    folder = tmp_path / "recording"
    env = RecordTransitions(ToyEnv(), folder, max_rows=2, policy="expert")
    env.reset(options={"task_id": "coin-3"})
    for action in env.unwrapped.expert_actions():
        env.step(action)
    env.reset(options={"task_id": "coin-0"})
    env.step("note[€ \udcff]")
    env.close()
    return folder


EXPERT = ["go to müll room", "look", "take coin", "go to hall", "drop coin", "note[€ \udcff]"]


def test_rows_come_in_the_order_of_recording(recording):
    assert len(shard_paths(recording)) == 3
    assert [r.action for r in read_transitions(recording)] == EXPERT
    first = shard_paths(recording)[0]
    assert [r.action for r in read_transitions(first)] == EXPERT[:2]
    assert [r.action for r in read_transitions(str(first))] == EXPERT[:2]


def test_pyarrow_reads_it(recording):
    table = pyarrow.dataset.dataset(recording).to_table()
    assert table.schema.names == SCHEMA.names and table.num_rows == 6
    assert table.column("action").to_pylist()[:5] == EXPERT[:5]
    assert read_table(recording).equals(table)
    assert pq.read_table(recording).column("reward").to_pylist() == [0, 0, 0, 0, 1, 0]


def test_polars_reads_it(recording):
    frame = polars.read_parquet(recording / "*.parquet")
    won = frame.filter(polars.col("is_success"))
    assert won["action"].to_list() == ["drop coin"]
    assert won["admissible_actions"].to_list() == [
        ["go to attic", "go to cellar", "go to müll room", "look", "drop coin"]
    ]
    assert frame.schema["reward"] == polars.Float64 and frame.schema["terminated"] == polars.Boolean
    assert polars.scan_parquet(recording).select(polars.len()).collect().item() == 6


@pytest.mark.parametrize("how", ["files", "folder"])
def test_datasets_reads_it(recording, tmp_path, how):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    where = {"data_files": str(recording / "*.parquet")} if how == "files" else {"data_dir": str(recording)}
    (recording / f".{shard_paths(recording)[0].name}.part").write_bytes(b"half a shard")
    loaded = datasets.load_dataset("parquet", split="train", cache_dir=str(tmp_path / "cache"), **where)
    assert loaded.column_names == SCHEMA.names
    assert loaded["action"][:5] == EXPERT[:5]
    assert loaded[4]["is_success"] is True and loaded[4]["fault"] is None


def test_what_another_tool_wrote_again_is_read(recording, tmp_path):
    # polars writes large strings and no nullability; columns may be in another order, or more than ours
    frame = polars.read_parquet(recording / "*.parquet")
    frame = frame.select(["reward", *(c for c in frame.columns if c != "reward")]).with_columns(
        extra=polars.lit(1)
    )
    frame.write_parquet(tmp_path / "again.parquet")
    assert list(read_transitions(tmp_path / "again.parquet")) == list(read_transitions(recording))


# ---- episodes ---------------------------------------------------------------------------------------------


def test_episodes_of_a_recording(recording):
    won, abandoned = iter_episodes(recording)
    assert [r.action for r in won] == EXPERT[:5] and won[-1].terminated
    assert [r.action for r in abandoned] == EXPERT[5:] and not abandoned[-1].terminated


def test_interleaved_episodes_come_as_they_end():
    rows = [
        row(0, "a"),
        row(0, "b"),
        row(1, "b", truncated=True),
        row(1, "a"),
        row(0, "c"),
        row(2, "a", terminated=True),
    ]
    episodes = [[(r.episode_id, r.step) for r in rows] for rows in iter_episodes(rows)]
    assert episodes == [[("b", 0), ("b", 1)], [("a", 0), ("a", 1), ("a", 2)], [("c", 0)]]


def test_an_unfinished_episode_waits_for_its_own_writer_only(tmp_path):
    writers = [ShardWriter(tmp_path, max_rows=1) for _ in range(2)]
    for name, writer in zip("ab", writers, strict=True):
        writer.append(row(0, f"{name}1"))
        writer.append(row(0, f"{name}2", terminated=True))
    order = [rows[0].episode_id for rows in iter_episodes(tmp_path)]
    first, other = order[0][0], order[2][0]
    assert order == [f"{first}2", f"{first}1", f"{other}2", f"{other}1"] and first != other


# ---- what is no recording ---------------------------------------------------------------------------------


def test_nothing_recorded_is_told(tmp_path):
    with pytest.raises(DataNotFound, match=r"no such path.*envrl record"):
        list(read_transitions(tmp_path / "absent"))
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".x.parquet.part").touch()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.parquet").touch()
    with pytest.raises(DataNotFound, match="none in the folder"):
        list(iter_episodes(tmp_path))


def damage_tail(file):
    file.write_bytes(file.read_bytes()[:-9])


def damage_pages(file):
    data = bytearray(file.read_bytes())
    data[4:400] = bytes(396)
    file.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        damage_tail,
        damage_pages,
        lambda file: file.write_bytes(b""),
        lambda file: file.write_text("hello\n" * 99),
    ],
)
def test_a_damaged_file_is_named(recording, damage):
    victim = shard_paths(recording)[1]
    damage(victim)
    with pytest.raises(InvalidData, match=victim.name):
        list(read_transitions(recording))


def test_a_foreign_file_is_named_with_what_it_lacks(recording):
    pq.write_table(pa.table({"observation": ["o"], "step": [1]}), recording / "other.parquet")
    with pytest.raises(InvalidData, match=r"other\.parquet is no recording.*missing are run_id, env_id"):
        list(read_transitions(recording))


def test_columns_of_another_type_are_told(recording):
    table = read_table(recording)
    words = pa.array(["one"] * table.num_rows)
    at = table.schema.get_field_index("step")
    pq.write_table(table.set_column(at, "step", words), recording / "words.parquet")
    with pytest.raises(InvalidData, match=r"words\.parquet cannot be read as recorded transitions"):
        list(read_transitions(recording))


def test_extras_that_are_not_json_are_told(tmp_path):
    table = to_table([row()])
    at = table.schema.get_field_index("extras")
    bad = table.set_column(at, table.schema.field(at), pa.array(["{not json"]))
    pq.write_table(bad, tmp_path / "bad.parquet")
    with pytest.raises(InvalidData, match=r"bad\.parquet has extras that are not JSON"):
        list(read_transitions(tmp_path))


def test_a_newer_version_is_told(tmp_path):
    table = to_table([row()], {b"envrl.transition_version": b"2"})
    pq.write_table(table, tmp_path / "new.parquet")
    with pytest.raises(InvalidData, match=r"new\.parquet has transitions of version 2.*update envrl"):
        list(read_transitions(tmp_path))


def test_there_is_no_spec_of_rows_without_one_or_of_several(recording, tmp_path):
    assert read_env_spec(recording) is None  # an environment that is not registered
    for n, tasks in itertools.product(range(2), (2, 3)):
        env = RecordTransitions(gymnasium.make("Toy/Coin-v0", tasks=tasks), tmp_path / f"{n}{tasks}")
        env.reset()
        env.step("look")
        env.close()
    assert read_env_spec(tmp_path / "02").kwargs == {"tasks": 2}
    (file,) = shard_paths(tmp_path / "13")
    shutil.copy(file, tmp_path / "02")
    assert read_env_spec(tmp_path / "02") is None
