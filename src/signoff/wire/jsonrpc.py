"""JSON-RPC 2.0 frames: what one frame is, and the bytes of ours. Strict: a frame is one of four things or it is malformed.

Request        method, id              answer it, whatever the id is (a number, a string, null)
Notification   method, no id           never answered
Result         id, result              one of our requests went well
Failure        id, error               one of our requests went wrong; id null or absent: nobody knows which
Malformed      anything else           answered with the error it names, and the connection lives on
"""

import functools
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from signoff.domain.unreadable import UNREADABLE

RequestId: TypeAlias = int | str | None

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000
NOT_FOUND: Final = -32002

MAX_ID = 1_024  # characters


class Request(msgspec.Struct, frozen=True):
    id: RequestId
    method: str
    params: Raw


class Notification(msgspec.Struct, frozen=True):
    method: str
    params: Raw


class Result(msgspec.Struct, frozen=True):
    id: RequestId
    result: Raw


class ErrorBody(msgspec.Struct, frozen=True):
    code: int
    message: str
    data: Raw | UnsetType = UNSET


class Failure(msgspec.Struct, frozen=True):
    id: RequestId
    error: ErrorBody


class Malformed(msgspec.Struct, frozen=True):
    code: int
    reason: str
    id: RequestId = None
    about: RequestId | UnsetType = UNSET  # the request of ours that this was meant to answer


Frame: TypeAlias = Request | Notification | Result | Failure | Malformed


class _Envelope(msgspec.Struct, frozen=True):
    jsonrpc: str | UnsetType = UNSET
    id: RequestId | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw = Raw(b"{}")
    result: Raw | UnsetType = UNSET
    error: ErrorBody | UnsetType = UNSET


_STRUCTURED = b"{[n"  # an object, an array, null

_decode: Callable[[bytes | str], _Envelope] = msgspec.json.Decoder(_Envelope).decode
_encode = msgspec.json.Encoder().encode


def read(data: bytes | str) -> Frame:
    """What one frame says."""
    try:
        if isinstance(data, bytes) and not data.isascii():
            data.decode("utf-8")  # what is passed on undecoded has been looked at, too
        envelope = _decode(data)
    except msgspec.ValidationError as error:
        return _explain(data, str(error))
    except (msgspec.DecodeError, UnicodeError) as error:
        return Malformed(PARSE_ERROR, f"Parse error: {error}")
    except RecursionError:
        return Malformed(PARSE_ERROR, "Parse error: nested too deeply")
    if envelope.jsonrpc != "2.0":
        return _invalid(envelope, 'jsonrpc must be "2.0"')
    if isinstance(envelope.id, str) and len(envelope.id) > MAX_ID:
        return Malformed(INVALID_REQUEST, f"Invalid request: id has more than {MAX_ID} characters")
    if envelope.method is UNSET:
        return _answer(envelope)
    if envelope.result is not UNSET or envelope.error is not UNSET:
        return _invalid(envelope, "a method together with a result or an error")
    params = envelope.params
    if memoryview(params)[0] not in _STRUCTURED:
        return _invalid(envelope, "params must be an object or an array")
    if envelope.id is UNSET:
        return Notification(envelope.method, params)
    return Request(envelope.id, envelope.method, params)


def _answer(envelope: _Envelope) -> Frame:
    if envelope.error is not UNSET and envelope.result is UNSET:
        return Failure(None if envelope.id is UNSET else envelope.id, envelope.error)
    if envelope.error is not UNSET:
        return Malformed(INVALID_REQUEST, "Invalid request: both a result and an error", about=envelope.id)
    if envelope.result is UNSET:
        return _invalid(envelope, "neither a method nor a result nor an error")
    if envelope.id is UNSET:
        return Malformed(INVALID_REQUEST, "Invalid request: a result without an id")
    return Result(envelope.id, envelope.result)


def _invalid(envelope: _Envelope, reason: str) -> Malformed:
    return Malformed(INVALID_REQUEST, f"Invalid request: {reason}", None if envelope.id is UNSET else envelope.id)


def _explain(data: bytes | str, reason: str) -> Malformed:
    """JSON of the wrong shape, or the wrong shape before the end of what is JSON. Its id is echoed where it is one."""
    try:
        value = msgspec.json.decode(data)
    except UNREADABLE as error:
        return Malformed(PARSE_ERROR, f"Parse error: {error}")
    reason = f"Invalid request: {reason}"
    if not isinstance(value, dict) or type(value.get("id")) not in (int, str):
        return Malformed(INVALID_REQUEST, reason)
    if "method" in value:
        return Malformed(INVALID_REQUEST, reason, value["id"])
    return Malformed(INVALID_REQUEST, reason, about=value["id"])


# Our own frames. The parts are encoded one by one and joined: no envelope object, no second pass.


def request(request_id: RequestId, method: str, params: object) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (
        _encode(request_id),
        _encode(method),
        _encode(params),
    )


def notification(method: str, params: object) -> bytes:
    return b"%b%b}" % (_notifying(method), _encode(params))


@functools.cache  # our own methods are few
def _notifying(method: str) -> bytes:
    return b'{"jsonrpc":"2.0","method":%b,"params":' % _encode(method)


def result(request_id: RequestId, value: object) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_encode(request_id), _encode(value))


def error(request_id: RequestId, code: int, message: str, data: object = UNSET) -> bytes:
    body = {"code": code, "message": message} if data is UNSET else {"code": code, "message": message, "data": data}
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (_encode(request_id), _encode(body))
