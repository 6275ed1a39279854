"""Handles brokers' responses to the controller: replicas in failed or full log directories, deleted replicas."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TypeVar

from ..base.gathered_lines import log_gathered
from ..base.topic_partition import TopicPartition
from ..protocol.errors import ErrorCode, known_error_code
from ..protocol.messages.leader_and_isr import LeaderAndIsrResponse
from ..protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from ..protocol.messages.update_metadata import UpdateMetadataResponse
from .broker_channel import ControlRequest, ControlResponse
from .context import ControllerContext
from .state_tables import PartitionReplica
from .topic_deletion import TopicDeletion

__all__ = ["BrokerResponses"]

Response = TypeVar("Response", LeaderAndIsrResponse, StopReplicaResponse)

logger = logging.getLogger(__name__)

_WAY_OUT_OF_DENIAL = "name the principal of the brokers in its super.users, or allow it ClusterAction on the cluster"


class BrokerResponses:
    """``post`` queues an event for a response; ``replicas_offline`` is called, within an event, with lost replicas,
    ``replicas_online`` with replicas that are not lost any more."""

    def __init__(
        self,
        context: ControllerContext,
        deletion: TopicDeletion,
        replicas_offline: Callable[[Iterable[PartitionReplica]], Awaitable[None]],
        replicas_online: Callable[[Iterable[PartitionReplica]], Awaitable[None]],
        post: Callable[[str, Callable[[], Awaitable[object]]], None],
    ) -> None:
        self._context = context
        self._deletion = deletion
        self._replicas_offline = replicas_offline
        self._replicas_online = replicas_online
        self._post = post

    def received(self, broker_id: int, request: ControlRequest, response: ControlResponse) -> None:
        match response:
            case LeaderAndIsrResponse():
                self._post_response(broker_id, request, response, partial(self._leader_and_isr_answered, broker_id))
            case StopReplicaResponse():
                assert isinstance(request, StopReplicaRequest)
                answered = partial(self._stop_replica_answered, broker_id, request)
                self._post_response(broker_id, request, response, answered)
            case UpdateMetadataResponse():
                if response.error_code != ErrorCode.NONE:
                    _log_refusal(broker_id, "UpdateMetadata", response.error_code)

    def _post_response(
        self,
        broker_id: int,
        request: ControlRequest,
        response: Response,
        answered: Callable[[Response], Awaitable[None]],
    ) -> None:
        async def handle() -> None:
            """Ignores the response of a broker that has gone or was restarted since."""
            if self._context.is_of_broker_epoch(broker_id, request.broker_epoch):
                await answered(response)

        self._post(f"{type(response).__name__} of broker {broker_id}", handle)

    async def _leader_and_isr_answered(self, broker_id: int, response: LeaderAndIsrResponse) -> None:
        if response.error_code != ErrorCode.NONE:
            _log_refusal(broker_id, "LeaderAndIsr", response.error_code)
            return
        before = self._context.offline_dir_replicas.get(broker_id, set())
        offline = set(before)
        newly_offline: list[TopicPartition] = []
        failed: list[str] = []
        for partition, error_code in self._partition_errors(response):
            if broker_id not in self._context.assignment(partition).replicas:
                logger.debug("broker %d has no replica of %s any more", broker_id, partition)
            elif error_code == ErrorCode.KAFKA_STORAGE_ERROR:
                if partition not in offline:
                    newly_offline.append(partition)
                offline.add(partition)
            elif error_code == ErrorCode.NONE:
                offline.discard(partition)
            elif error_code == ErrorCode.STALE_CONTROLLER_EPOCH:  # Kafka's error for a known leader epoch
                logger.debug("broker %d has its role in %s already", broker_id, partition)
            else:
                failed.append(f"broker {broker_id} could not take its role in {partition}: error {error_code}")
        log_gathered(logger, logging.ERROR, "controller.role-not-taken", failed)
        self._context.offline_dir_replicas[broker_id] = offline
        if newly_offline:
            logger.warning("broker %d has %d replicas in failed or full log directories", broker_id, len(newly_offline))
            await self._replicas_offline(PartitionReplica(partition, broker_id) for partition in newly_offline)
        again = sorted(before - offline)
        if again:
            logger.info("broker %d has %d replicas again whose log directories were full", broker_id, len(again))
            await self._replicas_online(PartitionReplica(partition, broker_id) for partition in again)

    def _partition_errors(self, response: LeaderAndIsrResponse) -> Iterable[tuple[TopicPartition, int]]:
        for topic in response.topics:
            name = self._context.topic_name(topic.topic_id)
            if name is not None:
                for error in topic.partition_errors:
                    yield TopicPartition(name, error.partition_index), error.error_code
        for error in response.partition_errors:
            yield TopicPartition(error.topic_name, error.partition_index), error.error_code

    async def _stop_replica_answered(
        self, broker_id: int, request: StopReplicaRequest, response: StopReplicaResponse
    ) -> None:
        errors = {
            TopicPartition(error.topic_name, error.partition_index): error.error_code
            for error in response.partition_errors
        }
        deleted: list[PartitionReplica] = []
        failed: list[PartitionReplica] = []
        for topic in request.topic_states:
            for state in topic.partition_states:
                if not state.delete_partition or not self._context.is_queued_for_deletion(topic.topic_name):
                    continue
                replica = PartitionReplica(TopicPartition(topic.topic_name, state.partition_index), broker_id)
                error_code = response.error_code or errors.get(replica.partition, ErrorCode.NONE)
                (deleted if error_code == ErrorCode.NONE else failed).append(replica)
        if failed:
            logger.error("broker %d could not delete %s", broker_id, [str(r.partition) for r in failed])
            await self._deletion.fail(failed)
        if deleted:
            await self._deletion.complete(deleted)


def _log_refusal(broker_id: int, request: str, code: int) -> None:
    error = known_error_code(code)
    is_denied = error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    way_out = f"; {_WAY_OUT_OF_DENIAL}" if is_denied else ""
    logger.error("broker %d refused %s: %s%s", broker_id, request, error.name, way_out)
