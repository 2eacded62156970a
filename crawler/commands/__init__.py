"""The commands of the project, each a file: ``scrapy NAME`` runs ``NAME.py``. They parse and print."""
