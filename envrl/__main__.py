"""``python -m envrl`` is the ``envrl`` command."""

from envrl.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
