"""The settings of the console, given at its start."""

from __future__ import annotations

from ..base.frozen import frozen
from ..client.client_settings import ClientSettings
from .cluster_views.token_file import TokenFile


@frozen(kw_only=True)
class ConsoleSettings:
    """`needs_login`: people log in with SASL, else the console uses the login in `client`, or none.

    `url`: the address in browsers when a proxy stands before the console. `v1_urls`: HTTP ports of pybrokers.
    `v1_ca_file`: the certificates that these ports' own are checked with; None: the system's.
    """

    client: ClientSettings
    needs_login: bool
    allow_writes: bool = False
    hide_records: bool = False
    masks: tuple[str, ...] = ()
    url: str | None = None
    is_https: bool = False
    v1_urls: tuple[str, ...] = ()
    v1_token: TokenFile | None = None
    v1_ca_file: str | None = None

    @property
    def bootstrap(self) -> str:
        """The addresses as Kafka's tools take them."""
        return ",".join(f"{host}:{port}" for host, port in self.client.bootstrap_servers)
