"""Policies, scopes and the state of every budget, derived from the log.

``policy`` and ``scope`` say how much and for whom; ``policy_json`` is a policy in the log and ``release_kind`` the kind
of a release. ``spend_tracker`` adds up one scope, and ``state`` all of them. ``opening`` opens and changes budgets,
``statement`` lists them, and ``advice`` says what would still fit.
"""
