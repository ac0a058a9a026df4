"""Protocols for repeated reports: RAPPOR, LOLOHA, dBitFlip, 1BitMean."""
