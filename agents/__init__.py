"""Language-model agents: models, policies, rollouts, advantages, objectives and the training loop."""
