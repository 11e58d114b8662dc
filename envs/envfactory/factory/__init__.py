"""The factory: from a toolkit to verified tasks, a file a stage."""
