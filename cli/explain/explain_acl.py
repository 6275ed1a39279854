"""``pybroker explain acl -b HOST:PORT``: whether a user may do something, by the ACLs that the cluster tells."""

from collections.abc import Iterator
from dataclasses import replace

from ...base.command_parser import CommandParser
from ...base.printable import printable
from ...client.admin_cluster import AdminCluster
from ...client.explained_acl import HiddenSettings
from ...protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ...views.explanations import AclExplanation, acl_explanation
from ...views.source import API_VERSION, Source
from ..acls.check_rights import check_rights, verdict_lines, verdict_of
from ..exit_codes import DONE, FAILED, NOT_ALLOWED
from ..verb import Call, Verb
from .acl_question import add_question_options, question_in

__all__ = ["ACL", "hidden_settings"]

_BROKER_RESOURCE = 4
_SOURCE = Source(api=API_VERSION, broker_id=None, cluster_id=None, time_ms=0)


def _run(call: Call) -> int:
    question = question_in(call.options)
    checked = check_rights(call.cluster, question)
    verdict = verdict_of(question, checked)
    text = "\n".join(verdict_lines(verdict, question.resource_type))
    view = replace(acl_explanation(_SOURCE, question, checked.explanation), allowed=verdict.is_allowed, text=text)
    call.output.documents([view], _lines, name=lambda each: each.decided_by)
    return FAILED if view.allowed is None else DONE if view.allowed else NOT_ALLOWED


def _arguments(parser: CommandParser) -> None:
    add_question_options(parser)


def _lines(view: AclExplanation) -> Iterator[str]:
    yield from map(printable, view.text.split("\n"))


def hidden_settings(cluster: AdminCluster) -> HiddenSettings:
    """Which settings of the authorizer are set; both, when the user may not see the settings of brokers."""
    (broker, *_) = cluster.metadata().brokers
    resource = DescribeConfigsResource(
        resource_type=_BROKER_RESOURCE, resource_name=str(broker.node_id), configuration_keys=None
    )
    (result,) = cluster.ask_broker(broker.node_id, DescribeConfigsRequest(resources=[resource])).results
    if result.error_code:
        return HiddenSettings(True, True)
    return HiddenSettings.among(each.name for each in result.configs)


ACL = Verb(
    "acl",
    "say whether a user may do something, by the cluster's ACLs, or with --config FILE by a broker's files",
    _arguments,
    _run,
    row=AclExplanation,
)
