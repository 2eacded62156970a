"""Engines that run as our own child processes, so that a laptop needs nothing installed."""
