"""Prices of events: pure, zero-concentrated, Rényi, privacy-loss-distribution and Gaussian accountants.

Mechanisms describe and accountants price. An accountant takes events (``spend``) and prices all of them together;
``best`` tries every accountant. A ``Filter`` refuses an event that would exceed a budget, when events are chosen
adaptively. ``calibrate`` finds the smallest noise for a target. A new event registers its prices by
``functools.singledispatch`` (``basic``, ``rho``, ``renyi``, ``mu``, ``dominating``). Nothing here reads data.
"""

from celosia.accounting.accountants.base import Accountant, AdaptiveAccountant
from celosia.accounting.accountants.best import Best, best
from celosia.accounting.accountants.classical import AdvancedAccountant, BasicAccountant, PureAccountant
from celosia.accounting.accountants.combined import CombinedAccountant
from celosia.accounting.accountants.numerical import PLDAccountant
from celosia.accounting.accountants.sums import GDPAccountant, RenyiAccountant, ZCDPAccountant
from celosia.accounting.calibration import Calibration, calibrate
from celosia.accounting.comparison import budget_curves, comparison_table, renyi_advanced
from celosia.accounting.filters import Filter, Odometer
from celosia.accounting.game import Game, game
from celosia.accounting.iteration.contraction import PNSGD, ContractiveIteration, release_every_step
from celosia.accounting.iteration.simulation import contractive_iteration
from celosia.accounting.presets import PRESETS, suggest_budget, suggest_delta
from celosia.accounting.prices.basic import basic
from celosia.accounting.prices.certified import certificate_holds
from celosia.accounting.prices.concentrated import rho
from celosia.accounting.prices.dominating import dominating
from celosia.accounting.prices.gdp import mu
from celosia.accounting.prices.renyi import renyi
from celosia.accounting.prices.selection import expected_runs
from celosia.accounting.prices.shuffling import shuffled_closed_form, shuffled_epsilon, shuffled_profile
from celosia.accounting.prices.simplify import simplify, simplify_group
from celosia.accounting.prices.trade_off import trade_off

__all__ = [
    "PNSGD",
    "PRESETS",
    "Accountant",
    "AdaptiveAccountant",
    "AdvancedAccountant",
    "BasicAccountant",
    "Best",
    "Calibration",
    "CombinedAccountant",
    "ContractiveIteration",
    "Filter",
    "GDPAccountant",
    "Game",
    "Odometer",
    "PLDAccountant",
    "PureAccountant",
    "RenyiAccountant",
    "ZCDPAccountant",
    "basic",
    "best",
    "budget_curves",
    "calibrate",
    "certificate_holds",
    "comparison_table",
    "contractive_iteration",
    "dominating",
    "expected_runs",
    "game",
    "mu",
    "release_every_step",
    "renyi",
    "renyi_advanced",
    "rho",
    "shuffled_closed_form",
    "shuffled_epsilon",
    "shuffled_profile",
    "simplify",
    "simplify_group",
    "suggest_budget",
    "suggest_delta",
    "trade_off",
]
