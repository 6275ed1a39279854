"""Runs a seed with the kind of clients and connections that its plan asks for."""

from simulation.consumer_groups.group_plan import GroupPlan
from simulation.consumer_groups.group_run import run_groups
from simulation.encryption.encrypted_run import run_encrypted
from simulation.runs.simulation_run import Plan, Result, run_seed
from simulation.share_groups.share_plan import SharePlan
from simulation.share_groups.share_run import run_shares
from simulation.transactions.transaction_run import TransactionPlan, run_transactions

__all__ = ["run_planned"]


def run_planned(seed: int, plan: Plan) -> Result:
    if isinstance(plan, TransactionPlan):
        return run_transactions(seed, plan)
    if isinstance(plan, GroupPlan):
        return run_groups(seed, plan)
    if isinstance(plan, SharePlan):
        return run_shares(seed, plan)
    return run_encrypted(seed, plan) if plan.shape.has_tls else run_seed(seed, plan)
