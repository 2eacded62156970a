"""Where do pages lie, and how are they read back? On a directory or on S3, as one object each or in WARC files.

page.py         a page as it is kept: its body and what is known of it
store.py        what every store can do
"""
