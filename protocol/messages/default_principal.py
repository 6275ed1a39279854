"""A client's principal as a broker passes it on in an Envelope (KIP-590), after its version, an int16."""

from ..codec import wire


@wire.message(versions="0", flexible="0+")
class DefaultPrincipalData(wire.Message):
    type: str = wire.string("0+", default="")
    name: str = wire.string("0+", default="")
    token_authenticated: bool = wire.boolean("0+", default=False)
