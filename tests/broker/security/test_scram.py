"""Tests of the broker's side of SCRAM: the examples of the RFCs, our client, and forged messages."""

from base64 import b64decode, b64encode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pybroker.broker.security.principal import Principal
from pybroker.broker.security.sasl.sasl_server import Challenge, LoginFailedError
from pybroker.broker.security.sasl.scram import ScramServer
from pybroker.broker.security.sasl.scram_credential import ScramCredential
from pybroker.broker.security.sasl.scram_users import ScramUsers, salt_text
from pybroker.protocol.client.errors import SaslError
from pybroker.protocol.client.sasl import Credentials, SaslLogin, sasl_messages
from pybroker.protocol.scram import SCRAM_MECHANISMS, ScramMechanism, sasl_name

SHA_256, SHA_512 = SCRAM_MECHANISMS.values()
CLIENT_NONCE, SERVER_NONCE = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
PENCIL = ScramCredential.of_password(SHA_256, "pencil", SALT, 4096)
SECRET = b"of all brokers"


def users_with(mechanism: ScramMechanism, **credentials: ScramCredential) -> ScramUsers:
    users = ScramUsers(SECRET)
    for name, credential in credentials.items():
        users.set_user(name, {mechanism.name: credential})
    return users


def server(users: ScramUsers | None = None) -> ScramServer:
    return ScramServer(SHA_256, users or users_with(SHA_256, user=PENCIL), SERVER_NONCE)


def proof_for(credential_password: str, first_bare: str, server_first: str, signed: str, mechanism=SHA_256) -> str:  # type: ignore[no-untyped-def]
    """Computed as RFC 5802 writes it down, not by the code under test."""
    attributes = dict(part.split("=", 1) for part in server_first.split(","))
    salted = mechanism.salted_password(credential_password, b64decode(attributes["s"]), int(attributes["i"]))
    client_key = mechanism.hmac(salted, b"Client Key")
    signature = mechanism.hmac(mechanism.digest(client_key), f"{first_bare},{server_first},{signed}".encode())
    return b64encode(bytes(a ^ b for a, b in zip(client_key, signature, strict=True))).decode()


def test_example_of_rfc_7677() -> None:
    exchange = server()
    assert exchange.evaluate(f"n,,n=user,r={CLIENT_NONCE}".encode(), 0) == Challenge(
        f"r={CLIENT_NONCE}{SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
    )
    final = exchange.evaluate(
        f"c=biws,r={CLIENT_NONCE}{SERVER_NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode(), 0
    )
    assert final.message == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert final.login is not None
    assert final.login.principal == Principal("User", "user")


def test_example_of_rfc_5802() -> None:
    sha_1 = ScramMechanism("SCRAM-SHA-1", "sha1", 20, 0)
    users = ScramUsers(SECRET)
    credential = ScramCredential.of_password(sha_1, "pencil", b64decode("QSXCR+Q6sek8bf92"), 4096)
    users._credentials["user", "SCRAM-SHA-1"] = credential
    users._iterations["SCRAM-SHA-1"] = users._iterations["SCRAM-SHA-256"]
    exchange = ScramServer(sha_1, users, "3rfcNHYJY1ZVvWVs7j")
    first = exchange.evaluate(b"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL", 0)
    assert first.message == b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096"
    final = exchange.evaluate(b"c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=", 0)
    assert final.message == b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ="


def log_in(mechanism: ScramMechanism, user: str, password: str, users: ScramUsers) -> Challenge:
    exchange = ScramServer(mechanism, users, SERVER_NONCE)
    messages = sasl_messages(SaslLogin(Credentials(mechanism.name, user, password), CLIENT_NONCE))
    challenge = exchange.evaluate(next(messages), 0)
    while True:
        challenge = exchange.evaluate(messages.send(challenge.message), 0)
        if challenge.login is not None:
            with pytest.raises(StopIteration):
                messages.send(challenge.message)
            return challenge


USER_NAMES = st.text(st.characters(min_codepoint=1, max_codepoint=127), min_size=1, max_size=10)
PASSWORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512], ids=lambda each: each.name)
@given(user=USER_NAMES, password=PASSWORDS, salt=st.binary(min_size=1, max_size=40))
def test_our_client_logs_in_with_any_name_and_password(
    mechanism: ScramMechanism, user: str, password: str, salt: bytes
) -> None:
    credential = ScramCredential.of_password(mechanism, password, salt, 4096)
    stored = ScramCredential.decode(mechanism, credential.encode())
    assert stored == credential
    users = ScramUsers(SECRET)
    users.set_user(user, {mechanism.name: stored})
    challenge = log_in(mechanism, user, password, users)
    assert challenge.login is not None
    assert challenge.login.principal == Principal("User", user)


@example("bob")
@example("User")
@example("user,")
@given(authorization_id=USER_NAMES)
def test_forged_authorization_id_is_refused(authorization_id: str) -> None:
    first = f"n,a={sasl_name(authorization_id)},n=user,r=x".encode()
    if authorization_id == "user":
        server().evaluate(first, 0)
        return
    with pytest.raises(LoginFailedError) as error:
        server().evaluate(first, 0)
    assert error.value.told == (
        "Authentication failed: Client requested an authorization id that is different from username"
    )


def finish_with_nonce(nonce: str) -> Challenge:
    """The proof is right for the nonce, so that only the nonce itself can be refused."""
    exchange = server()
    server_first = exchange.evaluate(f"n,,n=user,r={CLIENT_NONCE}".encode(), 0).message.decode()
    signed = f"c=biws,r={nonce}"
    proof = proof_for("pencil", f"n=user,r={CLIENT_NONCE}", server_first, signed)
    return exchange.evaluate(f"{signed},p={proof}".encode(), 0)


@given(forged=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=","), min_size=1))
def test_final_nonce_must_end_with_the_whole_nonce(forged: str) -> None:
    """CVE-2024-56128."""
    nonce = CLIENT_NONCE + SERVER_NONCE
    for wrong in {forged, forged + SERVER_NONCE, CLIENT_NONCE + forged, nonce + forged, nonce[:-1]}:
        if not wrong.endswith(nonce):
            with pytest.raises(LoginFailedError, match="nonce"):
                finish_with_nonce(wrong)


def test_client_may_repeat_its_own_nonce_before_the_whole_nonce() -> None:
    """librdkafka before 2.6.1 does so; Kafka 3.9.1 accepts it."""
    assert finish_with_nonce(CLIENT_NONCE + CLIENT_NONCE + SERVER_NONCE).login is not None


def finish(binding: str = "biws", password: str = "pencil", cut: int | None = None, header: str = "n,,") -> Challenge:
    exchange = server()
    server_first = exchange.evaluate(f"{header}n=user,r=x".encode(), 0).message.decode()
    signed = f"c={binding},r=x{SERVER_NONCE}"
    proof = b64encode(b64decode(proof_for(password, "n=user,r=x", server_first, signed))[:cut]).decode()
    return exchange.evaluate(f"{signed},p={proof}".encode(), 0)


def test_channel_binding_must_be_the_header_of_the_first_message() -> None:
    assert finish().login is not None
    assert finish(header="n,a=user,", binding=b64encode(b"n,a=user,").decode()).login is not None
    for header, binding in [("n,,", "eSws"), ("n,,", ""), ("n,a=user,", "biws")]:
        with pytest.raises(LoginFailedError, match="channel binding"):
            finish(header=header, binding=binding)


def test_proof_of_another_length_is_refused() -> None:
    for cut in (0, 1, 31):
        with pytest.raises(LoginFailedError, match=f"the proof of user 'user' has {cut} bytes"):
            finish(cut=cut)


def test_wrong_password_is_refused_with_the_common_text() -> None:
    with pytest.raises(LoginFailedError, match="wrong user or password for 'user'") as error:
        finish(password="pen")
    assert error.value.told is None


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n,,n=user",
        b"n,,n=,r=x",
        b"n,,n=user,r=",
        b"n,,n=us=er,r=x",
        b"y,,n=user,r=x",
        b"p=tls-unique,,n=user,r=x",
        b"n,,n=user,r=a b",
        "n,,n=ü,r=x".encode(),
        b"n,,n=user,r=x,a=",
        b"n,,n=user,r=x\n",
        b"n,,n=us\0er,r=x",
        b"n,,n=user,r=x,e=" + b"y" * 8192,
    ],
)
def test_malformed_first_message_is_refused(first: bytes) -> None:
    with pytest.raises(LoginFailedError, match="first message is malformed"):
        server().evaluate(first, 0)


@given(st.binary(max_size=80))
def test_no_other_bytes_log_in(message: bytes) -> None:
    exchange = server()
    with pytest.raises(LoginFailedError):
        exchange.evaluate(message, 0)
    with pytest.raises(LoginFailedError, match="after the end"):
        exchange.evaluate(f"n,,n=user,r={CLIENT_NONCE}".encode(), 0)
    exchange = server()
    exchange.evaluate(f"n,,n=user,r={CLIENT_NONCE}".encode(), 0)
    with pytest.raises(LoginFailedError):
        exchange.evaluate(message, 0)
    with pytest.raises(LoginFailedError, match="after the end"):
        exchange.evaluate(message, 0)


def test_extensions_and_reserved_fields_are_ignored_but_signed() -> None:
    exchange = server()
    bare = "m=x,n=user,r=x,ext=1"
    server_first = exchange.evaluate(f"n,,{bare}".encode(), 0).message.decode()
    signed = f"c=biws,r=x{SERVER_NONCE}"
    final = f"{signed},p={proof_for('pencil', bare, server_first, signed)}"
    assert exchange.evaluate(final.encode(), 0).login is not None


def test_login_by_delegation_token_fails_as_a_wrong_password_does() -> None:
    exchange = server()
    bare = "n=user,r=x,tokenauth=true"
    server_first = exchange.evaluate(f"n,,{bare}".encode(), 0).message.decode()
    signed = f"c=biws,r=x{SERVER_NONCE}"
    final = f"{signed},p={proof_for('pencil', bare, server_first, signed)}"
    with pytest.raises(LoginFailedError, match="wrong user or password"):
        exchange.evaluate(final.encode(), 0)


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512], ids=lambda each: each.name)
def test_unknown_user_gets_a_challenge_that_stays_the_same(mechanism: ScramMechanism) -> None:
    salt = salt_text(2**130 - 1)
    known = ScramCredential.of_password(mechanism, "p", salt, 8192)
    users, other_broker = users_with(mechanism, user=known), users_with(mechanism, user=known)

    def challenge(of: ScramUsers, name: str) -> bytes:
        return ScramServer(mechanism, of, SERVER_NONCE).evaluate(f"n,,n={name},r=x".encode(), 0).message

    assert challenge(users, "nobody") == challenge(other_broker, "nobody") != challenge(users, "nothing")
    assert challenge(users, "nobody").endswith(b",i=8192")
    shapes = {len(b64decode(challenge(users, f"unknown{i}").split(b",s=")[1].split(b",")[0])) for i in range(50)}
    assert max(shapes) <= len(salt)
    assert min(shapes) >= len(salt) - 4
    with pytest.raises(LoginFailedError, match="wrong user or password"):
        log_in(mechanism, "nobody", "p", users)


def test_dummy_credential_is_never_accepted_even_by_its_own_keys() -> None:
    """A login must not succeed for a name without a credential, whatever the proof."""
    users = ScramUsers(SECRET)
    dummy, exists = users.credential(SHA_256, "nobody")
    assert not exists
    users.credential = lambda mechanism, user: (PENCIL, False)  # type: ignore[method-assign]
    with pytest.raises(LoginFailedError, match="wrong user or password"):
        log_in(SHA_256, "nobody", "pencil", users)
    assert dummy.iterations == 4096


def test_removed_user_is_unknown_and_no_longer_counts_among_iterations() -> None:
    users = users_with(SHA_256, user=ScramCredential.of_password(SHA_256, "p", b"s", 5000))
    assert users.credential(SHA_256, "x")[0].iterations == 5000
    users.set_user("user", {})
    assert users.credential(SHA_256, "user")[1] is False
    assert users.credential(SHA_256, "x")[0].iterations == 4096


def test_client_does_not_trust_a_broker_without_the_server_key() -> None:
    users = users_with(SHA_256, user=ScramCredential(PENCIL.salt, PENCIL.stored_key, bytes(32), 4096))
    exchange = ScramServer(SHA_256, users, SERVER_NONCE)
    messages = sasl_messages(SaslLogin(Credentials(SHA_256.name, "user", "pencil"), CLIENT_NONCE))
    final = exchange.evaluate(messages.send(exchange.evaluate(next(messages), 0).message), 0)
    with pytest.raises(SaslError, match="does not prove"):
        messages.send(final.message)


GOOD = PENCIL.encode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "salt=",
        GOOD.replace("iterations", "Iterations"),
        f"{GOOD},x=1",
        f"{GOOD},iterations=4096",
        GOOD.replace("=4096", "=4095"),
        GOOD.replace("=4096", "=x"),
        GOOD.replace("=4096", "=99999999999"),
        GOOD.replace("salt=W", "salt=?"),
        GOOD.replace("salt=W22ZaJ0SNY7soEsUEjb6gQ==", "salt="),
        ScramCredential(SALT, b"short", bytes(32), 4096).encode(),
        ScramCredential(SALT, bytes(32), b"short", 4096).encode(),
    ],
)
def test_malformed_credential_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ValueError, match="SCRAM credential") as error:
        ScramCredential.decode(SHA_256, text)
    assert "W22Z" not in str(error.value)


def test_repr_of_a_credential_shows_no_keys() -> None:
    assert repr(PENCIL) == "ScramCredential(iterations=4096)"
