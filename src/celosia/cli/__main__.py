"""``python -m celosia.cli`` is ``celosia``."""

from celosia.cli.app import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
