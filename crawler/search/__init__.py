"""How are pages found again? One protocol, three engines: embedded (tantivy), Elasticsearch, OpenSearch.

searching.py    what is answered to somebody who searches: begin to read here
grammar.py      text → query; restrictions.py: hosts, languages and dates in it
query.py        what was asked for, as a tree
document.py     what is indexed of a page; cleaning.py: whether it can be
index.py        what every engine can do; opening.py: which engine INDEX_URL means
ranking.py      how much a word counts where
analysis.py     which terms a text consists of; spelling.py: which word was meant
snippets.py     which lines show why a page was found; highlighting.py: where the words stand
embedded.py     tantivy in this process
                embedded_schema, _queries, _forms, _reader, _writer, _words, _files are its parts
remote.py       Elasticsearch and OpenSearch, whose clients are elastic.py and opensearch.py
                mapping, dsl, bulk and completion are what both are told
"""
