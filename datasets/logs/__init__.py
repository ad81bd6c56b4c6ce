"""Training logs of well-known programs, recognised by their content and read as one run each."""
