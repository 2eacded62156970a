"""How does an index outlive its engine? As a backup in the store, or made anew of the pages that are kept there.

manifest.py     what a backup consists of, and what it is called
catalogue.py    which backups there are; which are half done, and may go
parts.py        documents as files: written in bounded memory, and checked when they are read
backup.py       index → store
restore.py      store → index, of any engine
rebuild.py      stored pages → index; pages.py and similar.py are its notes on the way
reading.py      stored pages → documents
workroom.py     a directory for what is only needed on the way
progress.py     how far it is, on standard error
acts.py         what ``scrapy search --backup`` and its like do
"""
