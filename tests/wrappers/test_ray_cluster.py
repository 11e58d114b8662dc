"""Environments over the machines of a Ray cluster; here each machine is a node of its own on this one."""

from collections import Counter
from dataclasses import replace

import gymnasium
import pytest
import toy_env  # noqa: F401 - registers the id
from ray_processes import NODE, ray_processes

from envrl.wrappers.ray_vector import RayVectorEnv

ray = pytest.importorskip("ray", reason="needs the extra ray")


@pytest.fixture
def cluster():
    """Two nodes, one of which may be taken away."""
    from ray.cluster_utils import Cluster

    # a node that is gone answers at once that it is not there; one that is busy has ten seconds
    checks = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500}
    with ray_processes() as shutdowns:
        cluster = Cluster(
            initialize_head=True, head_node_args={**NODE, "num_cpus": 1, "_system_config": checks}
        )
        shutdowns += [ray.shutdown, cluster.shutdown]
        extra = cluster.add_node(num_cpus=1, **NODE)
        cluster.wait_for_nodes()
        ray.init(cluster.address, log_to_driver=False, logging_level="error")
        yield cluster, extra


def nodes(vector: RayVectorEnv) -> list[str]:
    asked = [
        actor.__ray_call__.remote(lambda _: ray.get_runtime_context().get_node_id())
        for actor in vector._actors.actors
    ]
    return ray.get(asked)


def test_a_machine_that_is_lost_costs_the_episodes_on_it(cluster):
    machines, extra = cluster
    endless = replace(gymnasium.spec("Toy/Coin-v0"), max_episode_steps=None)
    vector = RayVectorEnv(endless, 4, 4)
    before = nodes(vector)
    assert sorted(Counter(before).values()) == [2, 2]
    vector.reset(options={"task_id": "coin-1"})
    machines.remove_node(extra, allow_graceful=False)
    on_it, lost = {i for i, node in enumerate(before) if node == extra.node_id}, set()
    while not on_it <= lost:
        *_, infos = vector.step(("look",) * 4)
        lost |= {i for i, fault in enumerate(infos["fault"]) if fault is not None}
    assert lost == on_it
    observations, _ = vector.reset(options={"task_id": "coin-1"})
    assert len(set(observations)) == 1
    assert set(nodes(vector)) == set(before) - {extra.node_id}
    vector.close()
