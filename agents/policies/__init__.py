"""Policies: how a language model's probabilities become actions."""
