"""One file per command; heavy imports happen inside, so that `--help` comes at once."""
