"""The checks behind `envrl.envs.testing.check_text_env`."""
