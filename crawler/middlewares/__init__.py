"""Downloader middlewares: what happens between a lease and a response."""
