"""The parties of a federation, and the records of each: arrays, frames, or tables of a database.

``party`` names them; ``outline`` has what is public of records before anything is paid for; ``table`` sums and reads
rows in a database; and ``columns`` chooses columns of frames.
"""

__all__: list[str] = []
