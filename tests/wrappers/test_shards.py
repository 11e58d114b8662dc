import multiprocessing
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from envrl.wrappers.recording import read_transitions, shard_paths
from envrl.wrappers.shards import ShardWriter
from envrl.wrappers.transition import Transition

ROOT = Path(__file__).resolve().parents[2]


def row(step: int, episode: str = "e") -> Transition:
    return Transition(episode_id=episode, step=step, observation="o", action="a", next_observation="n")


def steps(folder: Path) -> list[int]:
    return [r.step for r in read_transitions(folder)]


def start_script(body: str, *args: object) -> subprocess.Popen[str]:
    prelude = """
        import sys
        from envrl.wrappers import ShardWriter, Transition
        def row(step): return Transition(step=step, observation="o", action="a", next_observation="n")
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(prelude) + textwrap.dedent(body), *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def wait_for(condition, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def test_a_full_shard_is_written_at_once(tmp_path):
    writer = ShardWriter(tmp_path, max_rows=4, max_seconds=3600)
    writer.extend(row(n) for n in range(10))
    assert [pq.read_metadata(f).num_rows for f in shard_paths(tmp_path)] == [4, 4]
    writer.close()
    assert [pq.read_metadata(f).num_rows for f in shard_paths(tmp_path)] == [4, 4, 2]
    assert steps(tmp_path) == list(range(10))
    assert len(list(tmp_path.iterdir())) == 3, "no temporary file may stay"


def test_an_old_shard_is_written_without_another_row(tmp_path):
    writer = ShardWriter(tmp_path, max_seconds=0.05)
    writer.append(row(0))
    wait_for(lambda: list(tmp_path.glob("*.parquet")))
    writer.append(row(1))
    wait_for(lambda: len(list(tmp_path.glob("*.parquet"))) == 2)
    assert steps(tmp_path) == [0, 1]


def test_files_are_zstd_and_carry_the_metadata(tmp_path):
    with ShardWriter(tmp_path, metadata={"note": "grün"}) as writer:
        writer.append(row(0))
    (file,) = shard_paths(tmp_path)
    assert pq.read_schema(file).metadata[b"note"].decode() == "grün"
    assert pq.ParquetFile(file).metadata.row_group(0).column(0).compression == "ZSTD"
    assert file.name.startswith(writer.name)


def test_a_writer_goes_on_after_close(tmp_path):
    writer = ShardWriter(tmp_path)
    writer.append(row(0))
    writer.close()
    writer.close()
    writer.append(row(1))
    writer.flush()
    assert steps(tmp_path) == [0, 1]


def test_a_forgotten_writer_is_written(tmp_path):
    writer = ShardWriter(tmp_path)
    writer.append(row(0))
    del writer
    assert steps(tmp_path) == [0]


@pytest.mark.parametrize(
    "end",
    ["pass", "sys.exit(3)", "raise RuntimeError", "import os, signal; os.kill(os.getpid(), signal.SIGINT)"],
)
def test_the_end_of_the_interpreter_writes_what_is_left(tmp_path, end):
    script = start_script(
        f"w = ShardWriter(sys.argv[1]); w.append(row(0)); w.append(row(1)); {end}", tmp_path
    )
    script.communicate(timeout=60)
    assert steps(tmp_path) == [0, 1]


@pytest.mark.parametrize("shards_before_the_kill", [1, 2, 3, 5])
def test_a_killed_process_loses_at_most_the_open_shard(tmp_path, shards_before_the_kill):
    script = start_script(
        """
        w = ShardWriter(sys.argv[1], max_rows=50)
        for n in range(10**9):
            w.append(row(n))
            sys.stdout.write(f"{n}\\n")  # said only after append came back
            sys.stdout.flush()
        """,
        tmp_path,
    )
    lines = []
    for line in script.stdout:
        lines.append(int(line))
        if len(lines) % 7 == 0 and len(list(tmp_path.glob("*.parquet"))) >= shards_before_the_kill:
            break
    script.send_signal(signal.SIGKILL)
    said = lines + [int(line) for line in script.stdout.read().split("\n")[:-1]]
    script.wait(timeout=60)
    kept = steps(tmp_path)  # reading raises InvalidData if any file is damaged
    assert kept == list(range(len(kept)))
    assert len(kept) % 50 == 0 and len(said) - len(kept) < 50


def test_a_kill_while_writing_leaves_nothing_a_reader_sees(tmp_path):
    # One very large shard, so that the kill meets the writing of the file.
    script = start_script(
        """
        w = ShardWriter(sys.argv[1], max_rows=10**9)
        for n in range(200_000):
            w.append(Transition(step=n, observation=f"{n * n} {n}" * 10, action=str(n), next_observation="n"))
        print("writing", flush=True)
        w.close()
        """,
        tmp_path,
    )
    assert script.stdout.readline() == "writing\n"
    wait_for(lambda: list(tmp_path.glob(".*.part")))
    script.send_signal(signal.SIGKILL)
    script.wait(timeout=60)
    assert list(tmp_path.glob("*.parquet")) == []
    with ShardWriter(tmp_path) as writer:
        writer.append(row(7))
    assert steps(tmp_path) == [7]


def write_hundred(folder: str, first: int) -> None:
    with ShardWriter(folder, max_rows=30) as one, ShardWriter(folder, max_rows=30) as other:
        for n in range(first, first + 50):
            one.append(row(n))
            other.append(row(n + 50))


def test_processes_may_share_a_folder(tmp_path):
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=write_hundred, args=(str(tmp_path), 100 * n)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert sorted(steps(tmp_path)) == list(range(300))


def test_threads_may_share_a_writer(tmp_path):
    writer = ShardWriter(tmp_path, max_rows=17)

    def work(first: int) -> None:
        for n in range(first, first + 200):
            writer.append(row(n))

    threads = [threading.Thread(target=work, args=(200 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert sorted(steps(tmp_path)) == list(range(800))


def test_a_forked_child_leaves_the_parents_rows_alone(tmp_path):
    script = start_script(
        """
        import os
        w = ShardWriter(sys.argv[1])
        w.append(row(0))
        parent = w.name
        if child := os.fork():
            os.waitpid(child, 0)
        else:
            assert w.name != parent
            w.append(row(1))
        """,  # both end by themselves, so both run the last write
        tmp_path,
    )
    _, errors = script.communicate(timeout=60)
    assert script.returncode == 0, errors
    assert sorted(steps(tmp_path)) == [0, 1]


def test_rows_wait_while_the_disk_refuses_them(tmp_path):
    folder = tmp_path / "recording"
    writer = ShardWriter(folder, max_rows=2)
    shutil.rmtree(folder)
    writer.append(row(0))
    with pytest.raises(FileNotFoundError):
        writer.append(row(1))
    folder.mkdir()
    writer.append(row(2))
    writer.close()
    assert steps(folder) == [0, 1, 2]


def test_an_error_met_by_the_timer_is_raised_later(tmp_path):
    folder = tmp_path / "recording"
    writer = ShardWriter(folder, max_seconds=0.05)
    shutil.rmtree(folder)
    writer.append(row(0))
    count = 1
    with pytest.raises(FileNotFoundError):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            time.sleep(0.01)
            count += 1
            writer.append(row(count - 1))
    folder.mkdir()
    writer.close()
    assert steps(folder) == list(range(count))


def test_a_row_of_the_wrong_type_is_reported_and_costs_no_other(tmp_path):
    writer = ShardWriter(tmp_path)
    writer.append(row(0))
    writer.append(Transition(step=1, observation=b"\xff", action="a", next_observation="n"))
    writer.append(row(2))
    with pytest.raises(TypeError, match=r"Transition\.observation"):
        writer.close()
    assert steps(tmp_path) == [0, 2]


def test_a_row_of_the_wrong_type_alone(tmp_path):
    writer = ShardWriter(tmp_path, max_rows=1)
    with pytest.raises(TypeError, match=r"Transition\.reward"):
        writer.append(Transition(observation="o", action="a", next_observation="n", reward="x"))
    assert list(tmp_path.iterdir()) == []


def test_a_copy_is_a_writer_of_its_own(tmp_path):
    writer = ShardWriter(tmp_path, max_rows=7, metadata={"k": "v"})
    writer.append(row(0))
    copy = pickle.loads(pickle.dumps(writer))
    assert copy.name != writer.name and copy.folder == writer.folder
    copy.append(row(1))
    copy.close()
    writer.close()
    assert sorted(steps(tmp_path)) == [0, 1]


def test_wrong_use_is_told(tmp_path):
    with pytest.raises(ValueError, match="max_rows must be >= 1"):
        ShardWriter(tmp_path, max_rows=0)
    with pytest.raises(ValueError, match="max_seconds > 0"):
        ShardWriter(tmp_path, max_seconds=0)
    file = tmp_path / "f"
    file.touch()
    with pytest.raises(NotADirectoryError, match="is a file"):
        ShardWriter(file)
    assert list(tmp_path.iterdir()) == [file]
