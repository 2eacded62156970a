"""How do pages leave for other programs? As JSON lines, CSV or Parquet, in the way of Scrapy's feed exports.

exporters.py    formats that Scrapy does not have, or has in a way that is not safe
pages.py        the pages of a store, one row each
output.py       where they go: to a file in one step, or to standard output
"""
