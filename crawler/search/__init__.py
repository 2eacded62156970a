"""How are pages found again? One protocol, three engines: embedded (tantivy), Elasticsearch, OpenSearch.

document.py     what is indexed of a page
query.py        what was asked for, as a tree; made of text by grammar.py
index.py        what every engine can do
"""
