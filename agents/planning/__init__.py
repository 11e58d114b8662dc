"""What a training run would need and do, found without weights: `envrl train --dry-run`."""
