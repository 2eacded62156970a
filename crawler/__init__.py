"""Orbweaver: a polite, durable, distributed crawler built on Scrapy."""

__version__ = "0.1.0"
