"""From exact summaries to noisy answers: tables, fitted models, contribution limits, and intervals for true values."""
