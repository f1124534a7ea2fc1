"""Islands: sites of plain DDS joined over a backbone on which only summaries and wanted samples travel."""

from rookery.node.islands.gateway import Gateway
from rookery.node.islands.membership import island_parameter

__all__ = ["Gateway", "island_parameter"]
