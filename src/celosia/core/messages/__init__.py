"""Messages for readers: codes and fields, and one catalogue of sentences for each language.

``message`` makes a sentence from its code and fields; the sentences are in ``en/`` and ``es/``, a TOML file for each
package. ``numerals`` formats numbers and guarantees for readers, and ``system_errors`` names errors of the operating
system.
"""
