"""A file of records about people, with the role of each column: what every measure and method takes and returns."""

from celosia.anonymity.microdata.files import FileLabels
from celosia.anonymity.microdata.microdata import Microdata, check_microdata, read_microdata
from celosia.anonymity.microdata.roles import Roles
from celosia.anonymity.microdata.step import Step

__all__ = ["FileLabels", "Microdata", "Roles", "Step", "check_microdata", "read_microdata"]
