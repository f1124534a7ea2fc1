"""Islands: sites of plain DDS joined over a backbone on which only summaries and wanted samples travel."""

from rookery.gateway.events import GatewayFound, SiteTakenOver
from rookery.gateway.gateway import Gateway
from rookery.gateway.membership import island_parameter

__all__ = ["Gateway", "GatewayFound", "SiteTakenOver", "island_parameter"]
