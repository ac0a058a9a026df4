"""The configuration of a guard: settings with their defaults, and the TOML file that holds them."""
