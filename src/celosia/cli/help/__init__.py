"""Help and usage errors in other languages: English is in the commands and in click, the others in TOML files."""
