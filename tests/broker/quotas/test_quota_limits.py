"""Which quota holds for a client, held against the order of precedence that Kafka documents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.quotas.quota_entity import DEFAULT, Name, QuotaEntity, entity_of_node
from pybroker.broker.quotas.quota_limits import Limit, QuotaLimits

PARTS = st.sampled_from(["a", "b", DEFAULT])
ENTITIES = (
    st.builds(QuotaEntity, PARTS, st.none(), st.none())
    | st.builds(QuotaEntity, st.none(), PARTS, st.none())
    | st.builds(QuotaEntity, PARTS, PARTS, st.none())
)
CHANGES = st.lists(st.tuples(ENTITIES, st.none() | st.floats(0, 100)), max_size=20)

# The comment of Kafka's ClientQuotaManager, with {u} and {c} for the client's own names.
DOCUMENTED = [
    "/config/users/{u}/clients/{c}",
    "/config/users/{u}/clients/<default>",
    "/config/users/{u}",
    "/config/users/<default>/clients/{c}",
    "/config/users/<default>/clients/<default>",
    "/config/users/<default>",
    "/config/clients/{c}",
    "/config/clients/<default>",
]


def documented_limit(bounds: dict[QuotaEntity, float], user: str, client_id: str) -> Limit | None:
    for line in DOCUMENTED:
        if "clients" in line and not client_id:
            continue
        entity_type, _, name = line.format(u=user, c=client_id).removeprefix("/config/").partition("/")
        entity = entity_of_node(entity_type, name)
        assert entity is not None
        if entity in bounds:
            counts_user, counts_client = entity.user is not None, entity.client_id is not None
            return Limit((user if counts_user else "", client_id if counts_client else ""), bounds[entity])
    return None


@given(CHANGES, st.sampled_from(["a", "b", "c"]), st.sampled_from(["a", "b", "c", ""]))
def test_the_most_specific_quota_holds(
    changes: list[tuple[QuotaEntity, float | None]], user: str, client_id: str
) -> None:
    limits, bounds = QuotaLimits(), dict[QuotaEntity, float]()
    for entity, bound in changes:
        limits.set(entity, bound)
        bounds.pop(entity, None)
        if bound is not None:
            bounds[entity] = bound
        assert bool(limits) == bool(bounds)
        assert limits.find(user, client_id) == documented_limit(bounds, user, client_id)


@pytest.mark.parametrize(
    ("user", "client_id", "same", "other"),
    [
        (DEFAULT, None, ("u", "x"), ("v", "c")),
        ("u", None, ("u", "x"), None),
        (None, "c", ("v", "c"), None),
        (None, DEFAULT, ("v", "c"), ("u", "x")),
        (DEFAULT, DEFAULT, ("u", "c"), ("u", "x")),
    ],
)
def test_clients_of_one_level_share_a_bucket_or_not(
    user: Name | None, client_id: Name | None, same: tuple[str, str], other: tuple[str, str] | None
) -> None:
    limits = QuotaLimits()
    limits.set(QuotaEntity(user, client_id), 5.0)
    assert limits.find("u", "c") == limits.find(*same) != None  # noqa: E711
    if other is not None:
        assert limits.find("u", "c") != limits.find(*other) != None  # noqa: E711


def test_a_client_called_default_is_not_the_default() -> None:
    limits = QuotaLimits()
    limits.set(QuotaEntity(None, DEFAULT), 5.0)
    limits.set(QuotaEntity(None, "<default>"), 7.0)
    assert limits.find("u", "<default>") == Limit(("", "<default>"), 7.0)
    assert limits.find("u", "c") == Limit(("", "c"), 5.0)
