"""``pybroker cluster reassign plan|execute|verify|cancel``: moves partitions to other brokers (Kafka 2.4 or newer)."""

import sys
from pathlib import Path

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...base.topic_partition import TopicPartition
from ..exit_codes import DONE, UNHEALTHY
from ..output.columns import Column
from ..results import print_results
from ..verb import Call, Verb
from .finished_moves import replicas_after_moves, wait_for_moves
from .moves import change_moves, moves_under_way, replicas_of
from .reassignment_plan import balanced, plan_text, read_plan
from .shapes import PartitionMove, PartitionMoveState, PlannedPartition, ReassignmentPlan

__all__ = ["REASSIGN"]

_MOVE_COLUMNS = (
    Column("TOPIC", lambda row: row.topic),
    Column("PARTITION", lambda row: row.partition),
    Column("REPLICAS", lambda row: row.old_replicas),
    Column("NEW REPLICAS", lambda row: row.new_replicas),
    Column("MOVE", lambda row: f"would be {row.change}" if row.is_dry_run else row.change),
)
_STATE_COLUMNS = (
    Column("TOPIC", lambda row: row.topic),
    Column("PARTITION", lambda row: row.partition),
    Column("REPLICAS", lambda row: row.replicas),
    Column("ADDING", lambda row: row.adding),
    Column("REMOVING", lambda row: row.removing),
    Column("STATE", lambda row: row.state),
)
_MAX_PLAN_BYTES = 64 << 20


def _arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add(
        "action",
        choices=("plan", "execute", "verify", "cancel"),
        help="plan: print a plan for topics; execute: begin the moves of a plan; verify: say how far they are "
        "(exit code 10: not done); cancel: stop them",
    )
    add(
        "arguments",
        metavar="TOPIC|FILE",
        nargs="*",
        help="topics for plan; else a file with a plan, - is standard input",
    )
    add("--brokers", metavar="IDS", help="plan: the brokers to use, such as 1,2,3; default: all that are alive")
    add("-r", "--replication-factor", metavar="N", type=int, help="plan: replicas of each partition; default: as now")
    add("--all", action="store_true", help="cancel: all moves that are under way")
    add(
        "--wait",
        metavar="SECONDS",
        nargs="?",
        type=float,
        const=float("inf"),
        help="verify: wait until the moves are done, at most so long",
    )


def _run(call: Call) -> int:
    actions = {"plan": _plan, "execute": _execute, "verify": _verify, "cancel": _cancel}
    return actions[call.options.action](call)


def _plan(call: Call) -> int:
    options = call.options
    if not options.arguments:
        raise CommandError("give the topics to move", BAD_INPUT)
    if options.replication_factor is not None and options.replication_factor < 1:
        raise CommandError("--replication-factor must be at least 1", BAD_INPUT)
    alive = sorted(each.node_id for each in call.cluster.metadata().brokers)
    brokers = alive if options.brokers is None else _ids(options.brokers)
    if dead := sorted(set(brokers) - set(alive)):
        raise CommandError(f"broker {dead[0]} is not alive; alive: {', '.join(map(str, alive))}", BAD_INPUT)
    current = replicas_of(call.cluster, options.arguments)
    plan = balanced(current, brokers, options.replication_factor)
    moved = sum(len(set(replicas) - set(current[at])) for at, replicas in plan.items())
    call.output.say(f"{moved:,} replicas of {len(plan):,} partitions would be copied to other brokers")
    view = ReassignmentPlan(
        version=1,
        partitions=tuple(
            PlannedPartition(topic=at.topic, partition=at.partition, replicas=replicas)
            for at, replicas in sorted(plan.items())
        ),
    )
    call.output.documents([view], lambda _: [plan_text(plan)], name=lambda _: plan_text(plan))
    return DONE


def _execute(call: Call) -> int:
    plan = _given_plan(call)
    current = replicas_of(call.cluster, {at.topic for at in plan})
    if unknown := sorted(set(plan) - set(current)):
        raise CommandError(f"{unknown[0]} does not exist", BAD_INPUT)
    before = {at: current[at] for at in plan}
    call.output.say(f"replicas now, as a plan to go back: {plan_text(before)}")
    failures: list[Exception] = []
    begun = (
        sorted(plan) if call.options.dry_run else change_moves(call.cluster, _timeout_ms(call), dict(plan), failures)
    )
    rows = [_move(call, at, before[at], plan[at], "begun") for at in begun]
    return print_results(call.output, rows, _MOVE_COLUMNS, _name, failures)


def _cancel(call: Call) -> int:
    options = call.options
    if bool(options.arguments) == options.all:
        raise CommandError("give a file with a plan, or --all", BAD_INPUT)
    ongoing = moves_under_way(call.cluster, _timeout_ms(call))
    plan = ongoing if options.all else _given_plan(call)
    wanted = {at: each for at, each in ongoing.items() if at in plan}
    failures: list[Exception] = []
    cancelled = (
        sorted(wanted)
        if options.dry_run
        else change_moves(call.cluster, _timeout_ms(call), dict.fromkeys(wanted), failures)
    )
    if not wanted:
        call.output.say("no such move is under way")
    rows = []
    for at in cancelled:
        moving = wanted[at]
        back = tuple(each for each in moving.replicas if each not in moving.adding_replicas)
        rows.append(_move(call, at, tuple(moving.replicas), back, "cancelled"))
    return print_results(call.output, rows, _MOVE_COLUMNS, _name, failures)


def _verify(call: Call) -> int:
    """Without a plan: the moves that are under way."""
    ongoing = moves_under_way(call.cluster, _timeout_ms(call))
    plan = _given_plan(call) if call.options.arguments else dict.fromkeys(ongoing)
    if call.options.wait is not None:
        ongoing = wait_for_moves(call, plan, call.options.wait)
    current = replicas_after_moves(call, plan, ongoing, call.options.wait or 0)
    rows = []
    for at, replicas in sorted(plan.items()):
        moving = ongoing.get(at)
        state = "moving" if moving is not None else "done" if current.get(at) == replicas else "other replicas"
        rows.append(
            PartitionMoveState(
                topic=at.topic,
                partition=at.partition,
                replicas=current.get(at, ()),
                adding=() if moving is None else tuple(moving.adding_replicas),
                removing=() if moving is None else tuple(moving.removing_replicas),
                state=state,
            )
        )
    call.output.rows(rows, _STATE_COLUMNS, _name)
    if not rows:
        call.output.say("no partition is moving")
    return DONE if all(row.state == "done" for row in rows) else UNHEALTHY


def _given_plan(call: Call) -> dict[TopicPartition, tuple[int, ...]]:
    if len(call.options.arguments) != 1:
        raise CommandError("give one file with a plan, or - for standard input", BAD_INPUT)
    (name,) = call.options.arguments
    try:
        if name == "-":
            text = sys.stdin.read(_MAX_PLAN_BYTES)
        else:
            with Path(name).open() as file:
                text = file.read(_MAX_PLAN_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{name} cannot be read: {error}", BAD_INPUT) from None
    return read_plan(text, name)


def _move(call: Call, at: TopicPartition, old: tuple[int, ...], new: tuple[int, ...], change: str) -> PartitionMove:
    return PartitionMove(
        topic=at.topic,
        partition=at.partition,
        old_replicas=old,
        new_replicas=new,
        change=change,
        is_dry_run=call.options.dry_run,
    )


def _timeout_ms(call: Call) -> int:
    timeout_s: float = call.options.timeout
    return round(timeout_s * 1000)


def _name(row: PartitionMove | PartitionMoveState) -> str:
    return f"{row.topic}:{row.partition}"


def _ids(text: str) -> list[int]:
    parts = text.split(",")
    if not all(each.isascii() and each.isdigit() and len(each) < 10 for each in parts):
        raise CommandError(f"--brokers {text}: must be ids with commas between, such as 1,2,3", BAD_INPUT)
    return list(dict.fromkeys(map(int, parts)))


REASSIGN = Verb(
    "reassign",
    "move partitions to other brokers",
    _arguments,
    _run,
    changes=True,
    row=PartitionMove,
    other_rows=(PartitionMoveState, ReassignmentPlan),
)
