"""Tests that remembered verdicts are those of the ACLs in force, and that their number is bounded."""

from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.acl_rules.acl_index import AclIndex
from pybroker.base.acl_rules.authorizer import AclAuthorizer
from pybroker.base.acls import AclBinding, AclEntry, AclOperation, AclResourceType, ResourcePattern
from pybroker.broker.security.acl.verdicts import LONGEST_NAME, MOST_VERDICTS, Verdicts
from support.acls import HOSTS, NAMES, PRINCIPALS, RESOURCE_TYPES, bindings, by_pattern, operations

QUESTIONS = st.tuples(
    st.sampled_from(PRINCIPALS),
    st.sampled_from(HOSTS),
    operations,
    st.sampled_from(RESOURCE_TYPES),
    st.sampled_from(NAMES),
)
READ = (AclOperation.READ, AclResourceType.TOPIC)


class CountingAuthorizer(AclAuthorizer):
    asked = 0

    def may(
        self, principal: object, host: str, operation: AclOperation, resource_type: AclResourceType, name: str
    ) -> bool:
        self.asked += 1
        return super().may(principal, host, operation, resource_type, name)


@given(st.lists(st.one_of(bindings, QUESTIONS), max_size=20))
def test_remembered_verdicts_are_those_of_the_acls_in_force(
    steps: list[list[AclBinding] | tuple[str, str, AclOperation, AclResourceType, str]],
) -> None:
    authorizer = AclAuthorizer(AclIndex())
    verdicts = Verdicts(authorizer)
    for step in steps:
        if isinstance(step, list):
            gone: dict[ResourcePattern, frozenset[AclEntry]] = {
                pattern: frozenset() for pattern, _ in authorizer.index.acls()
            }
            authorizer.index.replace({**gone, **by_pattern(step)})
        else:
            assert verdicts.may(*step) is authorizer.may(*step)


def test_same_question_is_asked_once_until_an_acl_changes() -> None:
    authorizer = CountingAuthorizer(AclIndex())
    verdicts = Verdicts(authorizer)
    for _ in range(3):
        verdicts.may("User:a", "h", *READ, "t")
    assert authorizer.asked == 1
    authorizer.index.replace({})
    verdicts.may("User:a", "h", *READ, "t")
    assert authorizer.asked == 2


def test_number_of_remembered_verdicts_is_bounded() -> None:
    verdicts = Verdicts(AclAuthorizer(AclIndex()))
    for number in range(3 * MOST_VERDICTS):
        verdicts.may("User:a", "h", *READ, f"t{number}")
        assert len(verdicts.remembered) <= MOST_VERDICTS


def test_most_verdicts_are_remembered_when_a_little_more_are_asked_in_turn() -> None:
    authorizer = CountingAuthorizer(AclIndex())
    verdicts = Verdicts(authorizer)
    count = MOST_VERDICTS * 11 // 10
    for _ in range(3):
        authorizer.asked = 0
        for number in range(count):
            verdicts.may("User:a", "h", *READ, f"t{number}")
    assert authorizer.asked < count / 2


def test_long_names_do_not_drive_out_remembered_verdicts() -> None:
    verdicts = Verdicts(AclAuthorizer(AclIndex()))
    for number in range(MOST_VERDICTS):
        verdicts.may("User:a", "h", *READ, f"t{number}")
    verdicts.may("User:a", "h", *READ, "x" * (LONGEST_NAME + 1))
    assert len(verdicts.remembered) == MOST_VERDICTS


def test_long_names_are_not_remembered() -> None:
    verdicts = Verdicts(AclAuthorizer(AclIndex(), allow_everyone=True))
    assert verdicts.may("User:a", "h", *READ, "x" * (LONGEST_NAME + 1))
    assert len(verdicts.remembered) == 0
    assert verdicts.may("User:a", "h", *READ, "x" * LONGEST_NAME)
    assert len(verdicts.remembered) == 1
