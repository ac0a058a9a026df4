"""What web pages need beside their views: templates, static files, languages, and charts without third parties.

Each application gives the package that holds its templates, its files and its texts.
"""
