"""Linear, ridge and logistic regression."""
