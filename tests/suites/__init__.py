"""Public suites of other filter languages, put to this one: cases are read from a checkout, and only counts are kept.

`python -m tests.suites --artemis DIR --qpid DIR --opendds DIR --cesql DIR` prints cases run, agreed, refused with their
reason, and left out. `docs/subscriptions.md` has the counts.
"""
