"""A form an agent wants filled in, as fields a person can be asked for one by one, and what they typed as values. Pure.

A pattern or a format is shown and not checked: it is the agent's expression, and its answer to a wrong value is an error.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping

import msgspec

from signoff.domain.errors import UsageError
from signoff.wire import acp_schema as schema

Value = str | int | float | bool | list[str]
YES, NO = ("y", "yes", "true"), ("n", "no", "false")


class Field(msgspec.Struct, frozen=True):
    name: str
    kind: schema.ElicitationPropertySchema
    required: bool

    @property
    def label(self) -> str:
        title = None if isinstance(self.kind, dict) else self.kind.title
        return title if isinstance(title, str) and title else self.name

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """Value and title of each, where only some values are allowed."""
        match self.kind:
            case schema.StringPropertySchema(enum=plain, oneOf=titled):
                pass
            case schema.MultiSelectPropertySchema(items=schema.MultiSelectItems(enum=plain, anyOf=titled)):
                pass
            case _:
                return ()
        if isinstance(titled, list):
            return tuple((option.const, option.title) for option in titled)
        return tuple((value, value) for value in plain or ())

    @property
    def hints(self) -> Iterator[str]:
        """What the person should know before typing."""
        if isinstance(self.kind, dict):
            return
        if isinstance(self.kind.description, str):
            yield self.kind.description
        match self.kind:
            case schema.BooleanPropertySchema():
                yield "y or n"
            case schema.MultiSelectPropertySchema():
                yield "numbers with commas between them"
            case schema.StringPropertySchema(format=form, pattern=pattern):
                yield from (str(each) for each in (form, pattern) if each)
            case _:
                pass
        if not self.required:
            yield "may be left empty"

    @property
    def default(self) -> str:
        given = None if isinstance(self.kind, dict) else self.kind.default
        if isinstance(given, bool):
            return "y" if given else "n"
        if isinstance(given, list):
            known = [value for value, _ in self.choices]
            return ", ".join(str(known.index(each) + 1) for each in given if each in known)
        return "" if given in (None, msgspec.UNSET) else str(given)

    def read(self, text: str) -> Value | None:
        """The value that was typed; None: left out. Raises UsageError with what is wrong."""
        text = text.strip()
        if not text:
            if self.required:
                raise UsageError("an answer is needed")
            return None
        match self.kind:
            case schema.StringPropertySchema():
                return self._string(text)
            case (
                schema.IntegerPropertySchema(minimum=least, maximum=most)
                | schema.NumberPropertySchema(minimum=least, maximum=most)
            ):
                return _within(_number(text, whole=isinstance(self.kind, schema.IntegerPropertySchema)), least, most)
            case schema.BooleanPropertySchema():
                if text.lower() not in YES + NO:
                    raise UsageError("y or n")
                return text.lower() in YES
            case schema.MultiSelectPropertySchema(minItems=least, maxItems=most):
                chosen = [self._chosen(part.strip()) for part in text.split(",") if part.strip()]
                _within(len(chosen), least, most)
                return chosen
            case _:
                raise UsageError("this client does not know such a field")

    def _string(self, text: str) -> str:
        if self.choices:
            return self._chosen(text)
        assert isinstance(self.kind, schema.StringPropertySchema)
        _within(len(text), self.kind.minLength, self.kind.maxLength)
        return text

    def _chosen(self, text: str) -> str:
        """By number, value or title."""
        choices = self.choices
        if text.isdecimal() and 1 <= int(text) <= len(choices):
            return choices[int(text) - 1][0]
        found = [value for value, title in choices if text in (value, title)]
        if not found:
            raise UsageError(f"one of the {len(choices)} choices, by its number")
        return found[0]


def _number(text: str, *, whole: bool) -> int | float:
    try:
        return int(text) if whole else float(text)
    except ValueError as error:
        raise UsageError("a whole number" if whole else "a number") from error


def _within(value: int | float, least: object, most: object) -> int | float:
    if isinstance(least, int | float) and value < least:
        raise UsageError(f"at least {least:g}")
    if isinstance(most, int | float) and value > most:
        raise UsageError(f"at most {most:g}")
    if value != value:
        raise UsageError("a number")
    return value


Fill = Callable[[schema.ElicitationForm, tuple[Field, ...]], Awaitable[Mapping[str, Value] | None]]
"""Have somebody fill the fields in; None: they would not."""


def filling(fill: Fill) -> Callable[[object], Awaitable[schema.CreateElicitationResponse]]:
    """A handler for `Handlers.elicit`. What is no form is declined: nothing else was offered."""

    async def answer(request: object) -> schema.CreateElicitationResponse:
        if not isinstance(request, schema.ElicitationForm):
            return schema.ElicitationDecline()
        content = await fill(request, fields(request.requestedSchema))
        return schema.ElicitationDecline() if content is None else schema.ElicitationAccept(content=dict(content))

    return answer


def fields(form: schema.ElicitationSchema) -> tuple[Field, ...]:
    """In their order. A field of a kind we do not know can be left out, if it may be."""
    needed = form.required or ()
    return tuple(Field(name, each, name in needed) for name, each in form.properties.items())
