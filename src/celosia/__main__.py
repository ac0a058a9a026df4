"""Run the command line: ``python -m celosia`` is ``celosia``."""

from celosia.cli.app import main

if __name__ == "__main__":
    main()
