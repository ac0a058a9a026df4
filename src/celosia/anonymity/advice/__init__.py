"""Advice: try a handful of plans on a file, compare their risk and loss, and recommend one."""

from celosia.anonymity.advice.comparable import GuessRisk, measure_guesses, measure_table_error
from celosia.anonymity.advice.suggestion import Suggestion, Trial, suggest

__all__ = ["GuessRisk", "Suggestion", "Trial", "measure_guesses", "measure_table_error", "suggest"]
