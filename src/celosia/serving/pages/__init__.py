"""What web pages need beside their views: templates, static files, languages, cookies and charts.

``templates`` renders a page and makes replies, ``static_files`` serves its files, and ``languages`` chooses its
language. ``cookies`` sets cookies and checks where a form comes from. ``charts`` adapts a chart to language and theme,
without third parties. Each application gives the package that holds its templates, its files and its texts.
"""
