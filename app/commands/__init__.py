"""Commands by subject; heavy imports happen inside them, so that `--help` comes at once."""
