"""The environment ids of EnvRL, their entry points and time limits."""

import gymnasium

#: id -> (entry point as a string, max_episode_steps). Strings keep EnvSpec JSON-able and picklable.
ENVS: dict[str, tuple[str, int]] = {
    "EnvRL/ALFWorld-v0": ("envrl.envs.alfworld.env:ALFWorldEnv", 50),
    "EnvRL/WebShop-v0": ("envrl.envs.webshop.env:WebShopEnv", 15),
    "EnvRL/EnvFactory-v0": ("envrl.envs.envfactory.env:EnvFactoryEnv", 30),
    "EnvRL/BFCL-v0": ("envrl.envs.envfactory.bfcl.env:BFCLEnv", 60),
}


def register_envs() -> None:
    """Register every EnvRL id with Gymnasium; calling it again changes nothing.

    ``import envrl`` does this. Where the import cannot be written (Ray workers, spawned processes,
    configuration files) use the colon form: ``gym.make("envrl:EnvRL/ALFWorld-v0")``.
    """
    for env_id, (entry_point, max_episode_steps) in ENVS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, entry_point=entry_point, max_episode_steps=max_episode_steps)
