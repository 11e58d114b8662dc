"""EnvRL: language-model agent environments, transition recording, and RL that learns the dynamics too.

Importing this package registers the environment ids (``EnvRL/ALFWorld-v0``, ...) with Gymnasium.
"""

from pathlib import Path as _Path

__version__ = "0.1.0"

# In a bare clone the subpackages stand beside this folder, not inside it. An installed wheel has no
# pyproject.toml here, so this only ever applies to a source tree.
_ROOT = _Path(__file__).resolve().parent.parent
if (_ROOT / "pyproject.toml").is_file() and str(_ROOT) not in __path__:
    __path__.append(str(_ROOT))

from envrl.registration import register_envs  # noqa: E402 - needs the path above

register_envs()

__all__ = ["__version__", "register_envs"]
