"""Wrappers around text environments: recording, prompts from history."""
