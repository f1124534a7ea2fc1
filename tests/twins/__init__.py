"""Slow, plain twins of kernels and of fast structures: what tests compare those with. No cleverness here."""
