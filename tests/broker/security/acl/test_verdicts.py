"""Tests of the verdicts that a connection remembers."""

from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.acls import AclBinding, AclEntry, AclOperation, ResourcePattern, ResourceType
from pybroker.broker.security.acl.acl_index import AclIndex
from pybroker.broker.security.acl.authorizer import Authorizer
from pybroker.broker.security.acl.verdicts import MOST_VERDICTS, Verdicts
from support.acls import HOSTS, NAMES, PRINCIPALS, RESOURCE_TYPES, bindings, by_pattern, operations

QUESTIONS = st.tuples(operations, st.sampled_from(RESOURCE_TYPES), st.sampled_from(NAMES))


class CountingAuthorizer(Authorizer):
    asked = 0

    def may(
        self, principal: object, host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> bool:
        self.asked += 1
        return super().may(principal, host, operation, resource_type, name)


@given(st.lists(st.one_of(bindings, QUESTIONS), max_size=20), st.sampled_from(PRINCIPALS))
def test_remembered_verdicts_are_those_of_the_acls_in_force(
    steps: list[list[AclBinding] | tuple[AclOperation, ResourceType, str]], principal: str
) -> None:
    authorizer = Authorizer(AclIndex())
    verdicts = Verdicts(authorizer, principal, HOSTS[0])
    for step in steps:
        if isinstance(step, list):
            gone: dict[ResourcePattern, frozenset[AclEntry]] = {
                pattern: frozenset() for pattern, _ in authorizer.index.acls()
            }
            authorizer.index.replace({**gone, **by_pattern(step)})
        else:
            assert verdicts.may(*step) is authorizer.may(principal, HOSTS[0], *step)


def test_same_question_is_asked_once_until_an_acl_changes() -> None:
    authorizer = CountingAuthorizer(AclIndex())
    verdicts = Verdicts(authorizer, "User:a", "h")
    for _ in range(3):
        verdicts.may(AclOperation.READ, ResourceType.TOPIC, "t")
    assert authorizer.asked == 1
    authorizer.index.replace({})
    verdicts.may(AclOperation.READ, ResourceType.TOPIC, "t")
    assert authorizer.asked == 2


def test_number_of_remembered_verdicts_is_bounded() -> None:
    verdicts = Verdicts(CountingAuthorizer(AclIndex()), "User:a", "h")
    for number in range(3 * MOST_VERDICTS):
        verdicts.may(AclOperation.READ, ResourceType.TOPIC, f"t{number}")
        assert len(verdicts) <= MOST_VERDICTS
