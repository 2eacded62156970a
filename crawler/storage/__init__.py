"""Where do pages lie, and how are they read back? On a directory or on S3, as one object each or in WARC files.

page.py         a page as it is kept: its body and what is known of it
store.py        what every store can do
opening.py      which store the settings mean
layout.py       under which key what lies; which keys are none

html.py         pages as one file each
gzip_page.py    what such a file is: gzip, with all that is known of the page in its header
warc.py         pages as WARC files; warc_record.py, warc_file.py, warc_index.py and warc_shelf.py are its parts
files.py        what else lies in the store
days.py         of which days there are pages

objects.py      what a place that keeps files has to offer
directory.py    a directory as such a place; disk_errors.py says what its errors mean
s3.py           S3 as such a place; s3_place.py says where, bucket.py looks after the bucket, s3_errors.py reads errors
"""
