"""A study: the same training run with and without the objectives, over several seeds, and what came of it."""
