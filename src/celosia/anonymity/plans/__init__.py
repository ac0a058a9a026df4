"""Plans: the steps that make a file ready for publication, written down, replayed and undone.

A ``Plan`` is a list of steps with the models that the result must satisfy. ``History`` applies steps one by one, logs
what each did to risk and utility, and takes them back. ``load_plan`` and ``write_plan`` read and write plans as TOML.
"""

from celosia.anonymity.plans.description import Description, load_plan, write_plan
from celosia.anonymity.plans.history import History, LogEntry
from celosia.anonymity.plans.plan import Outcome, Plan

__all__ = ["Description", "History", "LogEntry", "Outcome", "Plan", "load_plan", "write_plan"]
