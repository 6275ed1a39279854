"""Names of users, client ids and addresses as names of nodes (Kafka's Sanitizer): URL encoding, in UTF-8.

A name may contain anything, so it is encoded. The default entity has the name ``<default>``, which no encoded name has.
"""

from urllib.parse import quote, unquote_plus

__all__ = ["DEFAULT_ENTITY", "can_be_node", "decode_entity_name", "encode_entity_name"]

DEFAULT_ENTITY = "<default>"


def can_be_node(name: str) -> bool:
    """Whether an entity of this name can have a node: ZooKeeper refuses these three, which stand for themselves."""
    return name not in ("", ".", "..")


def encode_entity_name(name: str) -> str:
    """The name of the node; letters, digits and ``-._`` stand for themselves."""
    return quote(name, safe="", errors="replace").replace("~", "%7E")


def decode_entity_name(node_name: str) -> str:
    """The name for which a node stands, other than `DEFAULT_ENTITY`."""
    return unquote_plus(node_name)
