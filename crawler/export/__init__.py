"""How do pages leave for other programs? As JSON lines, CSV or Parquet, in the way of Scrapy's feed exports.

safe_csv.py     CSV in which no cell is a formula
parquet.py      Parquet, which Scrapy does not have
pages.py        the pages of a store, one row each
output.py       where they go: to a file in one step, or to standard output
"""
