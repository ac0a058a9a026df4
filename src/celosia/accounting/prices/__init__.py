"""The price of one event: epsilon and delta, rho, Rényi divergences, mu, dominating pairs."""
