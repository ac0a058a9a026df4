"""Files, frames and databases: where rows come from, and how their values are parsed.

``classify`` says what kind of source an address or object is; ``files``, ``frames`` and ``spark`` open each kind, and
``column_types`` reads columns without rows. ``text_format`` and ``text_values`` define how text becomes values, and
``csv_encoding`` writes what they read. ``sniffing`` guesses a file's format for its owner. ``objects`` and ``strings``
convert columns to Arrow arrays that every engine reads.
"""
