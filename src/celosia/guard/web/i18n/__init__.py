"""Languages of the pages: texts, translated sentences, and numbers in each language's format."""
