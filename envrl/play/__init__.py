"""A person plays an environment in a terminal."""
