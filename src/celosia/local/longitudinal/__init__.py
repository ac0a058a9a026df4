"""Protocols for values that are reported again and again: RAPPOR, LOLOHA, dBitFlip, 1BitMean."""
