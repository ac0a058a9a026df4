"""Files, frames and databases: where rows come from, and how their values are parsed."""
