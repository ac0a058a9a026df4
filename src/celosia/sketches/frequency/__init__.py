"""Frequency sketches: count-min, count-median, count-mean, count sketch, AMS, and dyadic ranges."""
