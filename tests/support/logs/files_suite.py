"""The tests that real and simulated file systems (`storage.files`) must pass."""

import errno
import os
from collections.abc import Callable

import pytest
from pybroker.storage.files.files import DirectoryLockedError, FileRegion, Files

__all__ = ["FilesSuite"]


class FilesSuite:
    """Base of test classes that provide `files`, and `root`, the path of an empty directory."""

    @pytest.fixture
    def path(self, root: str) -> Callable[[str], str]:
        return lambda name: f"{root}/{name}"

    def test_open_creates_a_file_only_on_request(self, files: Files, path: Callable[[str], str]) -> None:
        with pytest.raises(FileNotFoundError):
            files.open(path("a"))
        assert not files.exists(path("a"))
        files.open(path("a"), create=True).close()
        assert files.exists(path("a"))

    def test_a_write_beyond_the_end_leaves_zeros(self, files: Files, path: Callable[[str], str]) -> None:
        file = files.open(path("a"), create=True)
        file.write_at(3, b"abc")
        assert file.size() == 6
        assert file.read_at(0, 100) == b"\0\0\0abc"

    def test_write_in_the_middle_changes_only_those_bytes(self, files: Files, path: Callable[[str], str]) -> None:
        file = files.open(path("a"), create=True)
        file.write_at(0, b"0123456789")
        file.write_at(2, bytearray(b"ab"))
        assert file.read_at(0, 100) == b"01ab456789"

    def test_a_read_ends_with_the_file(self, files: Files, path: Callable[[str], str]) -> None:
        files.write_bytes(path("a"), b"abc")
        file = files.open_to_read(path("a"))
        assert file.read_at(1, 10) == b"bc"
        assert file.read_at(3, 10) == b""
        assert file.read_at(30, 10) == b""

    def test_buffers_are_written_one_behind_the_other(self, files: Files, path: Callable[[str], str]) -> None:
        file = files.open(path("a"), create=True)
        file.write_vector_at(1, [b"ab", memoryview(b"cd"), bytearray(b"e")])
        assert file.read_at(0, 10) == b"\0abcde"

    def test_truncation_removes_the_end_or_adds_zeros(self, files: Files, path: Callable[[str], str]) -> None:
        file = files.open(path("a"), create=True)
        file.write_at(0, b"abcdef")
        file.truncate(2)
        file.truncate(4)
        assert file.read_at(0, 10) == b"ab\0\0"
        files.truncate(path("a"), 1)
        assert files.read_bytes(path("a")) == b"a"

    def test_bytes_written_by_one_descriptor_are_read_by_another(
        self, files: Files, path: Callable[[str], str]
    ) -> None:
        one, other = files.open(path("a"), create=True), files.open(path("a"))
        one.write_at(0, b"abc")
        assert other.read_at(0, 10) == b"abc"

    def test_a_file_opened_to_read_cannot_be_written(self, files: Files, path: Callable[[str], str]) -> None:
        files.write_bytes(path("a"), b"abc")
        with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
            files.open_to_read(path("a")).write_at(0, b"x")

    def test_closed_file_refuses_all_calls(self, files: Files, path: Callable[[str], str]) -> None:
        file = files.open(path("a"), create=True)
        file.close()
        file.close()
        for use in (file.size, lambda: file.read_at(0, 1), lambda: file.write_at(0, b"a")):
            with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
                use()

    def test_close_all_closes_files_that_are_still_referenced(self, files: Files, path: Callable[[str], str]) -> None:
        file = files.open(path("a"), create=True)
        files.close_all()
        with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
            file.size()

    def test_an_open_file_stays_readable_without_its_name(self, files: Files, path: Callable[[str], str]) -> None:
        files.write_bytes(path("a"), b"abc")
        file = files.open(path("a"))
        files.rename(path("a"), path("b"))
        assert file.read_at(0, 3) == b"abc"
        assert files.delete(path("b"))
        assert file.read_at(0, 3) == b"abc"

    def test_region_of_a_truncated_file_is_shorter(self, files: Files, path: Callable[[str], str]) -> None:
        files.write_bytes(path("a"), b"abcdef")
        region = FileRegion(files.open(path("a")), 2, 4)
        assert region.read() == b"cdef"
        files.truncate(path("a"), 3)
        assert region.read() == b"c"

    def test_file_reference_opens_its_file_at_first_use(self, files: Files, path: Callable[[str], str]) -> None:
        ref = files.ref(path("a"))
        files.write_bytes(path("a"), b"abc")
        assert ref.file().read_at(0, 3) == b"abc"
        files.forget(ref)
        assert ref.file().read_at(0, 3) == b"abc"

    def test_whole_files_are_written_anew(self, files: Files, path: Callable[[str], str]) -> None:
        files.write_bytes(path("a"), b"abcdef")
        files.write_bytes(path("a"), b"x", sync=False)
        assert files.read_bytes(path("a")) == b"x"
        files.write_atomically(path("a"), b"yz")
        assert files.read_bytes(path("a")) == b"yz"
        files.create_empty(path("a"))
        assert files.read_bytes(path("a")) == b""
        with pytest.raises(FileNotFoundError):
            files.read_bytes(path("b"))

    def test_space_is_reserved_with_zeros_and_never_less(self, files: Files, path: Callable[[str], str]) -> None:
        files.write_bytes(path("a"), b"abc")
        files.preallocate(path("a"), 5)
        assert files.read_bytes(path("a")) == b"abc\0\0"
        files.preallocate(path("a"), 2)
        assert files.read_bytes(path("a")) == b"abc\0\0"

    def test_sync_path_ignores_a_missing_file(self, files: Files, path: Callable[[str], str]) -> None:
        files.sync_path(path("a"))
        files.write_bytes(path("a"), b"abc", sync=False)
        files.sync_path(path("a"))

    def test_directories_are_made_with_their_parents(self, files: Files, path: Callable[[str], str]) -> None:
        files.make_directory(path("a/b/c"))
        files.make_directory(path("a/b/c"))
        files.write_bytes(path("a/b/file"), b"12345")
        assert [tuple(entry) for entry in files.list_directory(path("a/b"))] == [("c", True, 0), ("file", False, 5)]
        assert files.exists(path("a/b"))
        files.sync_directory(path("a/b"))

    def test_a_renamed_directory_takes_its_files_along(self, files: Files, path: Callable[[str], str]) -> None:
        files.make_directory(path("a"))
        files.write_bytes(path("a/file"), b"1")
        files.rename(path("a"), path("b"))
        assert files.read_bytes(path("b/file")) == b"1"
        assert not files.exists(path("a"))

    def test_a_rename_replaces_a_file(self, files: Files, path: Callable[[str], str]) -> None:
        files.write_bytes(path("a"), b"a")
        files.write_bytes(path("b"), b"b")
        files.rename(path("a"), path("b"))
        assert files.read_bytes(path("b")) == b"a"
        with pytest.raises(FileNotFoundError):
            files.rename(path("a"), path("b"))

    def test_a_rename_does_not_replace_a_directory_with_files(self, files: Files, path: Callable[[str], str]) -> None:
        for name in ("a", "b"):
            files.make_directory(path(name))
            files.write_bytes(path(f"{name}/file"), b"")
        with pytest.raises(OSError, match=os.strerror(errno.ENOTEMPTY)):
            files.rename(path("a"), path("b"))

    def test_deletions_say_whether_there_was_something(self, files: Files, path: Callable[[str], str]) -> None:
        files.write_bytes(path("a"), b"")
        assert files.delete(path("a"))
        assert not files.delete(path("a"))

    def test_delete_tree_deletes_all_contents(self, files: Files, path: Callable[[str], str]) -> None:
        files.make_directory(path("a/b"))
        files.write_bytes(path("a/b/file"), b"")
        files.delete_tree(path("a"))
        files.delete_tree(path("a"))
        assert not files.exists(path("a"))

    def test_paths_through_missing_directories_or_files_are_refused(
        self, files: Files, path: Callable[[str], str]
    ) -> None:
        files.write_bytes(path("file"), b"")
        with pytest.raises(FileNotFoundError):
            files.open(path("a/b"), create=True)
        with pytest.raises(NotADirectoryError):
            files.open(path("file/b"), create=True)
        with pytest.raises(NotADirectoryError):
            files.list_directory(path("file"))
        with pytest.raises(FileNotFoundError):
            files.list_directory(path("a"))
        assert not files.exists(path("file/b"))
        assert not files.delete(path("a/b"))

    def test_directory_cannot_be_used_as_a_file(self, files: Files, path: Callable[[str], str]) -> None:
        files.make_directory(path("a"))
        with pytest.raises(IsADirectoryError):
            files.open(path("a"), create=True)
        with pytest.raises(IsADirectoryError):
            files.read_bytes(path("a"))

    def test_the_time_of_a_file_can_be_set(self, files: Files, path: Callable[[str], str]) -> None:
        files.write_bytes(path("a"), b"")
        files.set_modified_ms(path("a"), 1_600_000_000_123)
        assert files.modified_ms(path("a")) == 1_600_000_000_123

    def test_directory_can_be_locked_only_once(self, files: Files, root: str) -> None:
        lock = files.lock_directory(root)
        with pytest.raises(DirectoryLockedError):
            files.lock_directory(root)
        lock.release()
        files.lock_directory(root).release()

    def test_usable_bytes_of_a_disk_are_positive_and_at_most_its_total(self, files: Files, root: str) -> None:
        space = files.disk_space(root)
        assert 0 < space.usable_bytes <= space.total_bytes
