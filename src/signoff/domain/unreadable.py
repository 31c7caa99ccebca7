"""What a decoder raises at bytes that are not what they should be. Not only its own error: text in them may be no UTF-8,
and nesting may be deeper than the stack. Whoever reads what another wrote catches all of it."""

import msgspec

UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
