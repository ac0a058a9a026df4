"""The privacy target of a fit, its payment, and the public bounds of the data."""
