"""Environments: the contract (`core`), text spaces, errors, the conformance kit, and one folder an environment."""
