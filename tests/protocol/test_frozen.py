"""Tests of the decorator `frozen`: its classes behave as frozen, slotted dataclasses do."""

import copy
import dataclasses
import inspect
import pickle
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.frozen import frozen


@frozen
class Place:
    topic: str
    offset: int = 0
    tags: list[str] = field(default_factory=list)
    secret: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class PlaceOfDataclasses:
    topic: str
    offset: int = 0
    tags: list[str] = field(default_factory=list)
    secret: str = field(default="", repr=False, compare=False)


@frozen(kw_only=True)
class Window:
    first: int
    last: int
    size: int = field(init=False)
    kind: str = field(init=False, default="window")

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise ValueError("a window ends before it begins")
        object.__setattr__(self, "size", self.last + 1 - self.first)


@frozen
class NamedPlace(Place):
    name: str = "nobody"


@frozen(eq=False)
class Handle:
    number: int


@frozen
class Empty:
    pass


VALUES = st.tuples(st.text(), st.integers(), st.lists(st.text()), st.text())


@given(VALUES, VALUES)
def test_frozen_class_compares_and_prints_as_a_dataclass_does(
    one: tuple[str, int, list[str], str], other: tuple[str, int, list[str], str]
) -> None:
    ours, theirs = (Place(*one), Place(*other)), (PlaceOfDataclasses(*one), PlaceOfDataclasses(*other))
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
    assert repr(ours[0]).replace("Place(", "PlaceOfDataclasses(", 1) == repr(theirs[0])
    assert Place(*one) == Place(*one)


def test_equal_objects_have_equal_hashes_and_the_field_that_is_not_compared_does_not_count() -> None:
    assert hash(Window(first=1, last=2)) == hash(Window(first=1, last=2))
    assert Place("a", secret="x") == Place("a", secret="y")
    assert Empty() == Empty()
    assert hash(Empty()) == hash(Empty())
    assert Place("a") != NamedPlace("a")
    with pytest.raises(TypeError, match="unhashable"):
        hash(Place("a"))  # its tags are a list


def test_an_object_without_comparison_equals_itself_only() -> None:
    handle = Handle(1)
    assert handle == handle
    assert handle != Handle(1)


def test_each_object_has_a_default_of_its_own() -> None:
    assert Place("a").tags is not Place("a").tags


def test_fields_of_parents_come_first() -> None:
    place = NamedPlace("orders", 3, ["x"], "s", "me")
    assert (place.topic, place.offset, place.tags, place.secret, place.name) == ("orders", 3, ["x"], "s", "me")
    assert NamedPlace("orders").name == "nobody"


@pytest.mark.parametrize("wrong", [{}, {"topic": "a", "unknown": 1}])
def test_wrong_arguments_are_refused(wrong: dict[str, object]) -> None:
    for _ in range(2):  # the first object of a class compiles its constructor
        with pytest.raises(TypeError, match=r"topic|unknown"):
            Place(**wrong)  # type: ignore[arg-type]


def test_fields_that_are_named_cannot_be_given_by_position() -> None:
    with pytest.raises(TypeError, match="positional"):
        Window(1, 2)  # type: ignore[call-arg]
    assert list(inspect.signature(Window).parameters) == ["first", "last"]


def test_post_init_checks_and_derives_fields() -> None:
    assert Window(first=2, last=4).size == 3
    with pytest.raises(ValueError, match="ends before"):
        Window(first=2, last=1)


def test_nothing_can_be_set_deleted_or_added() -> None:
    place = Place("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        place.offset = 1  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del place.offset
    with pytest.raises(dataclasses.FrozenInstanceError):
        place.colour = "red"  # type: ignore[attr-defined]
    assert not hasattr(place, "__dict__")


def test_the_functions_of_dataclasses_know_it() -> None:
    place = Place("a", 1)
    assert dataclasses.replace(place, offset=2) == Place("a", 2)
    assert dataclasses.asdict(Window(first=1, last=2)) == {"first": 1, "last": 2, "size": 2, "kind": "window"}
    assert [each.name for each in dataclasses.fields(Place)] == ["topic", "offset", "tags", "secret"]
    match place:
        case Place(topic, offset):
            assert (topic, offset) == ("a", 1)


def test_copies_and_pickles_are_equal() -> None:
    place = Place("a", 1, ["x"], "s")
    for made in (copy.copy(place), copy.deepcopy(place), pickle.loads(pickle.dumps(place))):
        assert made == place
        assert made.secret == "s"
