"""Toolkits from what there is already: an API's description, a database, a folder of tables."""

from envrl.envs.envfactory.generators.generate import generate, is_document

__all__ = ["generate", "is_document"]
