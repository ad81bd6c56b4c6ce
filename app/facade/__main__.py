"""`python -m trainlaw` is the command `trainlaw`."""

from trainlaw.app.cli import main

if __name__ == "__main__":
    main()
