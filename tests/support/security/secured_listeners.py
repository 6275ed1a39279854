"""The settings of a broker with every security protocol and login mechanism, and the logins that clients try on it.

Each user may only use topics, groups and transactional ids that begin with the user's name and a dash.
"""

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from pybroker.config.authorization import ACL_AUTHORIZER
from pybroker.config.sasl_mechanisms import SECURED_TOKENS
from support.processes.certificates import Authority
from support.processes.ports import free_port
from support.security.login_rows import PARTITIONS, Row

__all__ = ["Login", "SecuredListeners"]

USERS = {"PLAIN": "plain", "SCRAM-SHA-256": "scram256", "SCRAM-SHA-512": "scram512", "OAUTHBEARER": "oauth"}
CERTIFIED, ANONYMOUS = "certified", "ANONYMOUS"
SECRET = "canary-5b2d=,;"
"""The beginning of every password, with characters that have a meaning in settings of clients."""
# Listener CERTIFIED demands certificates of clients, listener SCRAM_ONLY has one mechanism.
PROTOCOLS = {
    "SSL": "SSL",
    "SASL_SSL": "SASL_SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "CERTIFIED": "SSL",
    "SCRAM_ONLY": "SASL_SSL",
}
OWN_LISTENER = "SASL_PLAINTEXT"
ADDRESS = "IP:127.0.0.1"
# Patterns in the errors that clients report.
LOGIN_FAILED = "(?i)authenticat|in oauth response"
UNKNOWN_AUTHORITY = "(?i)certificate verify failed|certificate chain|first certificate|x509|certification path"
UNKNOWN_MECHANISM = "(?i)sasl ?mechanism"
CERTIFICATE_REFUSED = "(?i)alert|remote error: tls"
_PACKAGE = "org.apache.kafka.common.security"
_MODULES = {
    "plain": f'{_PACKAGE}.plain.PlainLoginModule required username="broker" password="{SECRET}own" '
    f'user_broker="{SECRET}own" user_plain="{SECRET}plain";',
    "scram-sha-256": f"{_PACKAGE}.scram.ScramLoginModule required;",
    "scram-sha-512": f"{_PACKAGE}.scram.ScramLoginModule required;",
    "oauthbearer": f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule required;",
}
_LOGIN_SETTINGS = {
    "sasl.enabled.mechanisms": ",".join(USERS),
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.oauthbearer.expected.audience": "kafka",
    "pybroker.sasl.plain.without.tls": "true",
    "listener.name.scram_only.sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.scram_only.scram-sha-512.sasl.jaas.config": _MODULES["scram-sha-512"],
    **{
        f"listener.name.{listener}.{mechanism}.sasl.jaas.config": module
        for listener in ("sasl_ssl", "sasl_plaintext")
        for mechanism, module in _MODULES.items()
    },
    "listener.name.sasl_ssl.oauthbearer.sasl.server.callback.handler.class": SECURED_TOKENS,
    "listener.name.sasl_plaintext.oauthbearer.sasl.server.callback.handler.class": SECURED_TOKENS,
}
_OTHER_SETTINGS = {
    "listener.security.protocol.map": ",".join(f"{listener}:{protocol}" for listener, protocol in PROTOCOLS.items()),
    "inter.broker.listener.name": OWN_LISTENER,
    "authorizer.class.name": ACL_AUTHORIZER,
    "super.users": "User:broker",
    "num.partitions": str(PARTITIONS),
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}


@dataclass(frozen=True)
class Login:
    """One way in which a client connects; the fields are those of `Row`.

    Attributes:
        refusal: pattern in the error that the client must report; "" if the broker takes the login.
    """

    name: str
    servers: str
    protocol: str
    authority: Path
    certificate: Path | None
    mechanism: str
    user: str
    secret: str
    refusal: str = ""

    def row(self, run: str) -> Row:
        return Row(
            self.name,
            self.servers,
            self.protocol,
            str(self.authority),
            str(self.certificate or ""),
            self.mechanism,
            self.user,
            self.secret,
            f"{self.user}-{run}-{self.protocol.replace('_', '-')}",
            "refused" if self.refusal else "",
        )


class SecuredListeners:
    """The files, users and settings of the broker under a directory."""

    def __init__(self, directory: Path) -> None:
        self._authority = Authority(directory)
        self._stranger = Authority(directory, "stranger")
        self._server = self._authority.issue("server", ADDRESS)
        self._client = self._authority.issue(CERTIFIED, ADDRESS)
        self._foreign_client = self._stranger.issue("foreign", ADDRESS)
        self._keys_file = directory / "keys.json"
        self._token, self._forged_token = _tokens(self._keys_file)
        self._servers = {listener: f"127.0.0.1:{free_port()}" for listener in PROTOCOLS}

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not appear in the broker's output."""
        return (SECRET, self._token, self._forged_token)

    @property
    def keys_url(self) -> str:
        """The URL of the keys that sign tokens."""
        return self._keys_file.as_uri()

    def settings(self) -> dict[str, str]:
        return {
            "listeners": ",".join(f"{listener}://{address}" for listener, address in self._servers.items()),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._server),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._authority.certificate),
            "listener.name.certified.ssl.client.auth": "required",
            "listener.name.certified.ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/,DEFAULT",
            "sasl.oauthbearer.jwks.endpoint.url": self.keys_url,
            **_LOGIN_SETTINGS,
            **_OTHER_SETTINGS,
        }

    def make_users(self) -> None:
        """Sets the passwords of SCRAM and the rights of all users at the running broker."""
        admin = AdminClient(
            {
                "bootstrap.servers": self._servers[OWN_LISTENER],
                "security.protocol": OWN_LISTENER,
                "topic.metadata.refresh.interval.ms": 500,  # a new Kafka may not know its controller
                "sasl.mechanism": "PLAIN",
                "sasl.username": "broker",
                "sasl.password": f"{SECRET}own",
            }
        )
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            user = USERS[mechanism.name.replace("_", "-")]
            info = ScramCredentialInfo(mechanism, 4096)
            upsertion = UserScramCredentialUpsertion(user, info, f"{SECRET}{user}".encode())
            admin.alter_user_scram_credentials([upsertion])[user].result()
        for created in admin.create_acls(_rights()).values():
            created.result()

    def served(self) -> list[Login]:
        """Logins that the broker takes."""
        return [
            self._anonymous("SSL without a certificate"),
            self._certified("SSL with a certificate", self._client),
            *(self._by_mechanism(listener, name) for listener in ("SASL_SSL", "SASL_PLAINTEXT") for name in USERS),
        ]

    def refused(self) -> list[Login]:
        """Logins that fail: the broker refuses them, or the client does not trust the broker."""
        plain, token = self._by_mechanism("SASL_SSL", "PLAIN"), self._by_mechanism("SASL_SSL", "OAUTHBEARER")
        by_password = [self._by_mechanism("SASL_SSL", name) for name in USERS if name != token.mechanism]
        wrong = [
            *(replace(login, secret=f"{SECRET}x") for login in by_password),
            replace(token, secret=self._forged_token),
        ]
        misled = [self._anonymous("unknown authority, SSL"), replace(plain, name="unknown authority, SASL_SSL")]
        disabled = replace(plain, name="mechanism not enabled", servers=self._servers["SCRAM_ONLY"])
        unknown = [
            self._certified("no certificate", None),
            self._certified("certificate of an unknown authority", self._foreign_client),
        ]
        return [
            *(replace(login, name=f"wrong secret, {login.mechanism}", refusal=LOGIN_FAILED) for login in wrong),
            *(replace(login, authority=self._stranger.certificate, refusal=UNKNOWN_AUTHORITY) for login in misled),
            replace(disabled, refusal=UNKNOWN_MECHANISM),
            *(replace(login, refusal=CERTIFICATE_REFUSED) for login in unknown),
        ]

    def _anonymous(self, name: str) -> Login:
        return replace(self._login("SSL", "", ANONYMOUS, ""), name=name)

    def _certified(self, name: str, certificate: Path | None) -> Login:
        return replace(self._login("CERTIFIED", "", CERTIFIED, ""), name=name, certificate=certificate)

    def _by_mechanism(self, listener: str, mechanism: str) -> Login:
        user = USERS[mechanism]
        return self._login(listener, mechanism, user, self._token if user == "oauth" else f"{SECRET}{user}")

    def _login(self, listener: str, mechanism: str, user: str, secret: str) -> Login:
        name, servers, authority = f"{listener} {mechanism}", self._servers[listener], self._authority.certificate
        return Login(name, servers, PROTOCOLS[listener], authority, None, mechanism, user, secret)


def _rights() -> list[AclBinding]:
    prefixed, everything, allow = ResourcePatternType.PREFIXED, AclOperation.ALL, AclPermissionType.ALLOW
    return [
        AclBinding(kind, f"{user}-", prefixed, f"User:{user}", "*", everything, allow)
        for user in (*USERS.values(), CERTIFIED, ANONYMOUS)
        for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
    ]


def _tokens(keys_file: Path) -> tuple[str, str]:
    """A valid token and one with a wrong signature; writes the file with the issuer's key."""
    jwt = pytest.importorskip("jwt", reason="PyJWT is missing")
    ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")
    issuer, stranger = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    public = jwt.algorithms.ECAlgorithm.to_jwk(issuer.public_key(), as_dict=True)
    keys_file.write_text(json.dumps({"keys": [public | {"kid": "issuer"}]}))
    now_s = int(time.time())
    claims = {"sub": USERS["OAUTHBEARER"], "aud": "kafka", "iat": now_s, "exp": now_s + 7200, "scope": "x"}
    valid, forged = (jwt.encode(claims, key, "ES256", headers={"kid": "issuer"}) for key in (issuer, stranger))
    return str(valid), str(forged)
