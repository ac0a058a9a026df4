"""What is said without stopping: that something protects nobody, or that it is paid for again and again."""


class NotPrivateWarning(UserWarning):
    """What was asked for does not give the privacy that it seems to: it is there to be compared with.

    >>> issubclass(NotPrivateWarning, UserWarning)
    True
    """


class TuningWarning(UserWarning):
    """Several models were fitted to find the best one: each was paid for, and the choice itself is not private.

    >>> issubclass(TuningWarning, UserWarning)
    True
    """
