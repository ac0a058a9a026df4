"""Shell completion of options whose words are a closed list.

The lists are those of the packages that define them, imported on completion.
"""

from collections.abc import Callable, Iterable


def offer(words: Callable[[], Iterable[str]] | Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function that completes the beginning of a word."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in (words() if callable(words) else words) if word.startswith(incomplete)]

    return complete


def protocols() -> Iterable[str]:
    """Return the short names of local protocols."""
    from celosia.local.catalogue import load_catalogue

    return load_catalogue()


def models() -> Iterable[str]:
    """Return the words for models."""
    from celosia.cli.learn_models import MODELS

    return MODELS


def methods() -> Iterable[str]:
    """Return the methods of all models."""
    from celosia.cli.learn_models import MODELS

    return sorted({method for model in MODELS.values() for method in model.methods})


def data_sets() -> Iterable[str]:
    """Return the names of the synthetic data sets."""
    from celosia.data.bundled.telemetry import RECIPES

    return RECIPES


def presets() -> Iterable[str]:
    """Return the names of the preset budgets."""
    from celosia.accounting.presets import PRESETS

    return PRESETS


def accountants() -> Iterable[str]:
    """Return the accountants that a budget accepts."""
    from celosia.ledger.budgets.policy import ACCOUNTANTS

    return ACCOUNTANTS


def roles() -> Iterable[str]:
    """Return the roles of a guard."""
    from celosia.guard.roles import Role

    return [role.value for role in Role]
