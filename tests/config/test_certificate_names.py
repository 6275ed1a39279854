"""Which names are no spellings that Java prints. All names that Java printed are checked in
`tests/broker/security/tls/test_distinguished_names.py`."""

import pytest
from pybroker.config.certificate_names import misspelt_certificate_name


@pytest.mark.parametrize(
    ("name", "likely"),
    [
        ("CN=a, O=b", "CN=a,O=b"),
        ("cn=a,o=b", "CN=a,O=b"),
        ("CN = a , O = b + UID = c", "CN=a,O=b+UID=c"),
        ("CN=a\\, b, O=c", "CN=a\\, b,O=c"),
        ("/C=DE/O=Test/CN=kafka", "CN=kafka,O=Test,C=DE"),
        ("/CN=a/O=b/c", "O=b/c,CN=a"),
        ("CN=a,", ""),
        ("CN=a,emailAddress=a@b", ""),
        ("E=a@b,CN=a", ""),
        ("CN=a=b", ""),
        ("CN=a#b", ""),
        ('CN="a, b"', ""),
    ],
)
def test_likely_spelling_of_a_name_that_java_never_prints(name: str, likely: str) -> None:
    assert misspelt_certificate_name(name) == likely


@pytest.mark.parametrize(
    "name",
    ["alice", "ANONYMOUS", "a=b", "QUJD==", "/home", "CN", "CN=a,O=b", "CN=\\ a  b\\ ,2.5.4.5=#1301aa+C=", "UID=x"],
)
def test_users_and_names_that_java_prints_are_no_mistakes(name: str) -> None:
    assert misspelt_certificate_name(name) is None
