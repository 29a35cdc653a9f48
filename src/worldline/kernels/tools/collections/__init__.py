"""Collections: tool worlds described by records and rules, written by hand or learned from traces."""

from worldline.kernels.tools.collections.server import CollectionServer, collection_server

__all__ = ["CollectionServer", "collection_server"]
