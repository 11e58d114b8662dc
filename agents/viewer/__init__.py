"""A run as one HTML page: its curves, its evaluations, and episodes turn by turn."""
