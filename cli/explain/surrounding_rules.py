"""Findings about what surrounds a group: too few replicas of its offsets, missing rights, quotas. Pure."""

from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ..groups.shapes import GroupMember
from ..output.columns import duration_text
from ..quotas.found_quotas import value_text
from ..quotas.shapes import Quota
from .evidence import Evidence, member_name
from .shapes import Finding
from .surroundings import client_of

__all__ = ["surrounding_findings"]

_MOST_FINDINGS_OF_A_KIND = 10


def surrounding_findings(evidence: Evidence) -> list[Finding]:
    """The findings, the worst first."""
    rules = (_offsets_under_min_isr, _missing_rights, _throttled, _quotas)
    return [finding for rule in rules for finding in rule(evidence)[:_MOST_FINDINGS_OF_A_KIND]]


def _offsets_under_min_isr(evidence: Evidence) -> list[Finding]:
    """The group can neither commit nor finish a rebalance, because the write of either is refused."""
    keeper = evidence.surroundings.keeper
    if keeper is None or len(keeper.in_sync) >= min(keeper.min_isr, len(keeper.replicas)):
        return []
    away = ", ".join(str(each) for each in sorted(set(keeper.replicas) - set(keeper.in_sync)))
    return [
        Finding(
            kind="offsets_under_min_isr",
            is_trouble=True,
            text=f"{CONSUMER_OFFSETS_TOPIC}-{keeper.partition}, which keeps the group, has {len(keeper.in_sync)} of "
            f"{len(keeper.replicas)} replicas in sync, but min.insync.replicas is {keeper.min_isr}: commits and the "
            "ends of rebalances are refused",
            culprit=f"broker {away}, which {'is' if ',' not in away else 'are'} not in sync",
            remedies=(f"start broker {away}, or look why it does not follow",),
        )
    ]


def _missing_rights(evidence: Evidence) -> list[Finding]:
    """Trouble if nothing of the member moves: a super user needs no rule, and the cluster does not tell who is one."""
    return [
        Finding(
            kind="right_missing",
            is_trouble=not _moves(evidence, each.member),
            text=f"{each.principal} may not Read {each.resource}: {each.reason}",
            culprit=member_name(each.member),
            remedies=(
                f"pybroker acls add --allow {each.principal} --read --{each.option} {each.resource.partition(' ')[2]}",
                "nothing, if super.users names the user",
            ),
        )
        for each in evidence.surroundings.missing_rights
    ]


def _throttled(evidence: Evidence) -> list[Finding]:
    """Trouble if there are records to read."""
    found = []
    for member in _one_of_each_client(evidence):
        delay_ms = evidence.surroundings.throttled_ms.get(client_of(member))
        if delay_ms is None:
            continue
        quota = evidence.surroundings.quotas.get(client_of(member))
        found.append(
            Finding(
                kind="throttled",
                is_trouble=bool(evidence.lag),
                text=f"quotas delayed the responses to a client by {duration_text(delay_ms / 1000)} within "
                f"{duration_text(evidence.watched_s)}" + ("" if quota is None else f": {_quota_text(quota)}"),
                culprit=member_name(member),
                remedies=("pybroker quotas list shows what is set; pybroker quotas set raises it",),
            )
        )
    return found


def _quotas(evidence: Evidence) -> list[Finding]:
    """Quotas that apply, but that delayed no response while the group was watched."""
    around = evidence.surroundings
    found = []
    for member in _one_of_each_client(evidence) if evidence.lag else ():
        client = client_of(member)
        quota = around.quotas.get(client)
        if quota is None or client in around.throttled_ms:
            continue
        before_ms = around.throttled_before_ms.get(client)
        known = f"; it was delayed by {duration_text(before_ms / 1000)} in all" if before_ms else ""
        remedy = "with a pybroker, give --v1 URL: it knows whether the quota delays the client"
        found.append(
            Finding(
                kind="quota_set",
                is_trouble=False,
                text=f"a client may read no faster than {_quota_text(quota)}{known}",
                culprit=member_name(member),
                remedies=(remedy,) if before_ms is None else (),
            )
        )
    return found


def _quota_text(quota: Quota) -> str:
    parts = [f"user {quota.user}"] if quota.user is not None else []
    parts += [f"client-id {quota.client_id}"] if quota.client_id is not None else []
    return f"{value_text(quota)} ({quota.quota} of {', '.join(parts)})"


def _one_of_each_client(evidence: Evidence) -> list[GroupMember]:
    return list({client_of(member): member for member in evidence.last.group.members}.values())


def _moves(evidence: Evidence, member: GroupMember) -> bool:
    """Whether the member went on with one of its partitions while the group was watched, or has read everything."""
    own = [at for at, row in evidence.last.partitions.items() if row.member_id == member.member_id]
    rows = evidence.last.partitions
    if own and all(rows[at].lag == 0 for at in own):
        return True
    return any(
        len({look.partitions[at].committed for look in evidence.looks if at in look.partitions}) > 1 for at in own
    )
