"""What tests of pages, web services and documents read with: a browser, a parser, scripted servers, the documents.

`served`, `browser` and `html_page` fetch and read what `trex queue serve` and the reports show; `http_scripts` are
servers that misbehave; `documents` and `documented_extensions` read what README, CONTRIBUTING and docs/ promise.
"""
