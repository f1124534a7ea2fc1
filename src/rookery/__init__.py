"""Rookery: content-based publish/subscribe. One compiled set of subscriptions, the same answer everywhere."""
