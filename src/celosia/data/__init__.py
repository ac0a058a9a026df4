"""Data sets that come with the package; later also schemas (bounds, categories, privacy unit) and frames in and out.

Nothing here is private, and nothing here is about anybody: the bundled tables are synthetic. What a schema states
(bounds, categories) is public knowledge by definition, because it is written down before the data are looked at.
"""

from celosia.data.deaths import AGES, CAUSES, DIABETES, SEXES, STATES, VIOLENCE, deaths
from celosia.data.synthetic import make_deaths

__all__ = ["AGES", "CAUSES", "DIABETES", "SEXES", "STATES", "VIOLENCE", "deaths", "make_deaths"]
