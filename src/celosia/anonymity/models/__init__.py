"""Privacy models of files: k-anonymity, l-diversity, t-closeness and their kin, and how far a file satisfies them.

``measure`` gives the numbers of a file, ``check`` says which models it satisfies. Each model protects from a stated
attacker only; none of them is differential privacy.
"""

from celosia.anonymity.models.closeness import EqualCloseness, HierarchicalCloseness, OrderedCloseness
from celosia.anonymity.models.delta_presence import DeltaPresence
from celosia.anonymity.models.diversity import AlphaK, DistinctDiversity, EntropyDiversity, RecursiveDiversity
from celosia.anonymity.models.measures import Measures, SensitiveMeasures, check, measure
from celosia.anonymity.models.model import ClassModel, FileModel, Model
from celosia.anonymity.models.sizes import AverageRisk, KAnonymity, KMap, ProsecutorRisk

__all__ = [
    "AlphaK",
    "AverageRisk",
    "ClassModel",
    "DeltaPresence",
    "DistinctDiversity",
    "EntropyDiversity",
    "EqualCloseness",
    "FileModel",
    "HierarchicalCloseness",
    "KAnonymity",
    "KMap",
    "Measures",
    "Model",
    "OrderedCloseness",
    "ProsecutorRisk",
    "RecursiveDiversity",
    "SensitiveMeasures",
    "check",
    "measure",
]
