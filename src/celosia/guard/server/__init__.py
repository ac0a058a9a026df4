"""Processes and sockets: the application, its workers, and the supervisor that restarts them."""
