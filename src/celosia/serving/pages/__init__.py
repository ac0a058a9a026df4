"""What web pages need beside their views: templates, static files, languages, and charts without third parties.

``templates`` renders a page and makes replies, ``static_files`` serves its files, ``languages`` chooses its language,
and ``charts`` adapts a chart to language and theme. Each application gives the package that holds its templates, its
files and its texts.
"""
