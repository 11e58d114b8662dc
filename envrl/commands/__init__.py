"""The subcommands of ``envrl``, one module each: dataclasses of options and the functions that take them."""
