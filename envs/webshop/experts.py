"""The experts of WebShop: one that knows the target, one that knows no more than the pages show."""

from envrl.envs.webshop.imitable import imitable_action
from envrl.envs.webshop.privileged import remaining_plan

__all__ = ["imitable_action", "remaining_plan"]
