"""Texts in the index: which of the set's patterns hold for an event, found in one pass over the bytes of its texts."""
