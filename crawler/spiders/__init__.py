"""Spiders of this project."""
