"""Translates operations, results and errors between `MetadataStore` and kazoo."""

from collections.abc import Sequence
from typing import Any

from kazoo import exceptions as kazoo_errors
from kazoo.protocol import serialization
from kazoo.protocol.states import EventType as KazooEventType
from kazoo.protocol.states import ZnodeStat
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from .metadata_store import (
    BadVersionError,
    Check,
    CheckResult,
    ConnectionLossError,
    Create,
    CreateResult,
    Delete,
    DeleteResult,
    EventType,
    InvalidPathError,
    MetadataStoreError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotAuthorizedError,
    NotEmptyError,
    Operation,
    OperationResult,
    SessionExpiredError,
    SetData,
    SetDataResult,
    Stat,
    check_path,
)
from .zookeeper_settings import ZooKeeperSettings

__all__ = ["EVENT_TYPES", "KazooOperations", "check_operations", "error_of", "stat_of"]

EVENT_TYPES = {
    KazooEventType.CREATED: EventType.CREATED,
    KazooEventType.DELETED: EventType.DELETED,
    KazooEventType.CHANGED: EventType.DATA_CHANGED,
    KazooEventType.CHILD: EventType.CHILDREN_CHANGED,
}
_ERRORS: dict[type[Exception], type[MetadataStoreError]] = {
    kazoo_errors.NoNodeError: NoNodeError,
    kazoo_errors.NodeExistsError: NodeExistsError,
    kazoo_errors.BadVersionError: BadVersionError,
    kazoo_errors.NotEmptyError: NotEmptyError,
    kazoo_errors.NoChildrenForEphemeralsError: NoChildrenForEphemeralsError,
    kazoo_errors.BadArgumentsError: InvalidPathError,
    kazoo_errors.NoAuthError: NotAuthorizedError,
    kazoo_errors.AuthFailedError: NotAuthorizedError,
    kazoo_errors.SessionExpiredError: SessionExpiredError,
    kazoo_errors.ConnectionLoss: ConnectionLossError,
    kazoo_errors.ConnectionClosedError: ConnectionLossError,
}
_REFUSED = (
    "ZooKeeper does not let this broker do that: is pybroker.zookeeper.digest, or its certificate, that of the brokers"
    " who have made the node (zookeeper.set.acl)?"
)
# Codes in a refused transaction: operations before the failed one, and operations after it.
_NOT_TO_BLAME = (kazoo_errors.RolledBackError, kazoo_errors.RuntimeInconsistency)


class KazooOperations:
    """``root``: the path on the server where the tree begins."""

    def __init__(self, settings: ZooKeeperSettings) -> None:
        self.root = settings.root
        self._settings = settings

    def real(self, path: str) -> str:
        """The path of ``path`` on the server."""
        return (self.root + path if path != "/" else self.root) or "/"

    def path_of(self, real: str) -> str:
        return real[len(self.root) :] or "/"

    def acl_of(self, path: str) -> list[Any]:
        if self._settings.may_be_changed_by_all(path):
            return list(OPEN_ACL_UNSAFE)
        if self._settings.may_be_read_by_all(path):
            return [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE]
        return list(CREATOR_ALL_ACL)

    def as_kazoo(self, operation: Operation) -> Any:
        real = self.real(operation.path)
        match operation:
            case Create():
                flags = (1 if operation.ephemeral else 0) | (2 if operation.sequential else 0)
                return serialization.Create(real, bytes(operation.data), self.acl_of(operation.path), flags)
            case SetData():
                return serialization.SetData(real, bytes(operation.data), operation.version)
            case Delete():
                return serialization.Delete(real, operation.version)
            case Check():
                return serialization.CheckVersion(real, operation.version)

    def multi_result(self, operations: Sequence[Operation], answer: Sequence[Any]) -> list[OperationResult]:
        for index, result in enumerate(answer):
            if isinstance(result, Exception) and not isinstance(result, _NOT_TO_BLAME):
                error = error_of(result, operations[index].path)
                error.operation_index = index
                raise error
        results: list[OperationResult] = []
        for operation, result in zip(operations, answer, strict=True):
            match operation:
                case Create():
                    results.append(CreateResult(self.path_of(result)))
                case SetData():
                    results.append(SetDataResult(stat_of(result)))
                case Delete():
                    results.append(DeleteResult())
                case Check():
                    results.append(CheckResult())
        return results


def check_operations(operations: Sequence[Operation]) -> None:
    """Raises InvalidPathError, with the index of the operation, for a path that ZooKeeper would refuse."""
    for index, operation in enumerate(operations):
        try:
            check_path(operation.path, sequential=isinstance(operation, Create) and operation.sequential)
        except InvalidPathError as error:
            error.operation_index = index
            raise


def stat_of(stat: ZnodeStat) -> Stat:
    return Stat(
        czxid=stat.czxid,
        mzxid=stat.mzxid,
        pzxid=stat.pzxid,
        ctime_ms=stat.ctime,
        mtime_ms=stat.mtime,
        version=stat.version,
        cversion=stat.cversion,
        ephemeral_owner=stat.ephemeralOwner,
        data_length=stat.dataLength,
        num_children=stat.numChildren,
        acl_version=stat.aversion,
    )


def error_of(error: Exception, path: str | None) -> MetadataStoreError:
    if isinstance(error, MetadataStoreError):
        return error
    for theirs, ours in _ERRORS.items():
        if isinstance(error, theirs):
            return ours(path, _REFUSED if ours is NotAuthorizedError else str(error) or theirs.__name__)
    return MetadataStoreError(path, repr(error))
