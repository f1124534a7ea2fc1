"""Worlds that exist only in memory: the machines that run live, on virtual time, links and disks, with faults."""
