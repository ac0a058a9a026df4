"""Who calls: users and their keys, bearer tokens of an identity provider, and web sessions.

``identity`` is the result of each: a name, a role, and the key that proved it. ``directory`` finds it by a key,
``oidc`` by a signed token, and ``web_sessions`` by a cookie.
"""
