"""Warnings: a result is not private, or a search pays for every fit."""


class NotPrivateWarning(UserWarning):
    """A result does not have the privacy that it seems to have; it serves only for comparison.

    >>> issubclass(NotPrivateWarning, UserWarning)
    True
    """


class TuningWarning(UserWarning):
    """A search fits several models: it pays for each, and the choice itself is not private.

    >>> issubclass(TuningWarning, UserWarning)
    True
    """
