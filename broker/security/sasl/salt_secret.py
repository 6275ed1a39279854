"""The secret that the salts of unknown users are derived from, the same for all brokers of a cluster.

**Why.** A salt that differs between brokers, or between starts, would tell a stranger that the user does not exist. So
would one that everyone can compute.

**How.** A random number is the data of the node /config/users, which Kafka leaves empty. The ACL of that node is the
same as that of the credentials below it.
"""

import json
import secrets
from contextlib import suppress

from ....controller.tree.metadata_store import BadVersionError, ConnectionLossError, MetadataStore

__all__ = ["SALT_SECRET_PATH", "salt_secret"]

SALT_SECRET_PATH = "/config/users"
_BYTES = 32


async def salt_secret(store: MetadataStore) -> bytes:
    """The cluster's secret, made by the first broker that needs it. Raises MetadataStoreError."""
    data, stat = await store.get(SALT_SECRET_PATH)
    if data:
        return data
    new = json.dumps({"version": 1, "pybroker.salt.secret": secrets.token_hex(_BYTES)}).encode()
    with suppress(BadVersionError, ConnectionLossError):  # another broker was faster, or the outcome is unknown
        await store.set(SALT_SECRET_PATH, new, stat.version)
    data, _ = await store.get(SALT_SECRET_PATH)
    return data or new
