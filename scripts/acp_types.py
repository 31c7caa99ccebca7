"""The types of a protocol's schema as lines of Python, for generate_acp.py.

What a JSON Schema union means for a decoder that reads each byte once: a union with a tag becomes tagged structs, a
union told apart only by which members are there becomes one struct that checks itself, an open union keeps what it does
not know.
"""

import json
from collections.abc import Sequence
from typing import Any

Schema = dict[str, Any]

ENVELOPES = {
    "AgentRequest",
    "AgentResponse",
    "AgentNotification",
    "ClientRequest",
    "ClientResponse",
    "ClientNotification",
}
FREE = {"ExtRequest", "ExtResponse", "ExtNotification"}
NAMES = {  # a variant whose own type is also used without its tag, or under several tags
    "tool_call_update": "ToolCallProgress",
    "select": "SessionConfigOptionSelect",
    "cancelled": "CancelledPermissionOutcome",
    "form": "ElicitationForm",
    "url": "ElicitationUrl",
    "accept": "ElicitationAccept",
    "decline": "ElicitationDecline",
    "cancel": "ElicitationCancel",
}
UNION_NAMES = {("SessionConfigOption", "boolean"): "SessionConfigOptionBoolean"}
LENIENCY = {"default-on-error": "e", "default-on-null": "n", "skip-invalid-items": "s"}
SCALARS = {"string": "str", "boolean": "bool", "number": "float", "null": "None", "object": "dict[str, Any]"}


def reference(node: Schema) -> str | None:
    """The name a node stands for, through the schema's way of wrapping a reference."""
    if "$ref" in node:
        return str(node["$ref"]).rsplit("/", 1)[1]
    if len(node.get("allOf", [])) == 1 and "properties" not in node:
        return reference(node["allOf"][0])
    return None


class Writer:
    """Collects the lines of the module; a type is written once what its defaults need is written."""

    def __init__(self, definitions: dict[str, Schema]) -> None:
        self.definitions = definitions
        self.structs: list[str] = []
        self.aliases: list[str] = []
        self.lenient: dict[str, dict[str, str]] = {}
        self.open_unions: list[str] = []
        self.written: set[str] = set()
        self.tagged: dict[str, tuple[str, str]] = {}
        self._uses = self._count_uses()
        self._claim_tags()

    def _count_uses(self) -> dict[str, int]:
        text = json.dumps({n: d for n, d in self.definitions.items() if n not in ENVELOPES})
        return {name: text.count(f'"#/$defs/{name}"') for name in self.definitions}

    def _claim_tags(self) -> None:
        """A struct used by one variant only bears that variant's tag itself."""
        for definition in self.definitions.values():
            if "properties" in definition:
                continue
            tags = self._variants(definition)
            if tags is None or any(tag is None for tag, _, _ in tags):
                continue
            for tag, field, target in tags:
                if target and self._uses[target] == 1 and tag not in NAMES and tag is not None:
                    self.tagged[target] = (field, tag)

    def _variants(self, definition: Schema) -> list[tuple[str | None, str, str | None]] | None:
        """(tag, its member, the type behind it) of each variant that is an object."""
        found: list[tuple[str | None, str, str | None]] = []
        for variant in definition.get("oneOf") or definition.get("anyOf") or []:
            if variant.get("title") == "other":
                continue
            if variant.get("type") != "object" and reference(variant) is None:
                return None
            constants = [(k, p["const"]) for k, p in variant.get("properties", {}).items() if "const" in p]
            target = reference({"allOf": variant["allOf"]}) if "allOf" in variant else reference(variant)
            found.append((constants[0][1], constants[0][0], target) if constants else (None, "", target))
        return found or None

    # One definition at a time.

    def write(self, name: str) -> None:
        if name in self.written or name in ENVELOPES | FREE:
            return
        self.written.add(name)
        definition = self.definitions[name]
        if special := getattr(self, f"_write_{name}", None):
            special(name, definition)
        elif "oneOf" in definition or "anyOf" in definition:
            self._union(name, definition)
        elif "properties" in definition or definition.get("type") == "object":
            self._struct(name, definition, tag=self.tagged.get(name))
        else:
            self.aliases.append(f"{name}: TypeAlias = {self.annotation(definition)}")

    def _union(self, name: str, definition: Schema) -> None:
        options = definition.get("oneOf") or definition["anyOf"]
        constants = [option["const"] for option in options if "const" in option]
        if constants:
            closed = len(constants) == len(options)
            values = ", ".join(repr(constant) for constant in constants)
            kind = "int" if isinstance(constants[0], int) else "str"
            self.aliases.append(
                f"{name}: TypeAlias = " + (f"Literal[{values}]" if closed else f"{kind}  # {values}, …")
            )
            return
        variants = self._variants(definition)
        if variants is None:
            self.aliases.append(f"{name}: TypeAlias = {self.annotation(definition)}")
        elif all(tag is not None for tag, _, _ in variants):
            self._tagged_union(name, definition, variants)
        elif len(variants) == 1 and variants[0][2]:
            self.aliases.append(f"{name}: TypeAlias = {variants[0][2]}")
        else:
            self._merged(name, [self.definitions[target] for _, _, target in variants if target], variants)

    def _tagged_union(self, name: str, definition: Schema, variants: list[tuple[str | None, str, str | None]]) -> None:
        members = []
        for tag, field, target in variants:
            assert tag is not None
            if target is not None and self.tagged.get(target) == (field, tag) and "properties" not in definition:
                members.append(target)
                continue
            own = self.definitions[target] if target else {}
            variant_name = UNION_NAMES.get((name, tag)) or NAMES.get(tag) or "".join(p.title() for p in tag.split("_"))
            properties = {**definition.get("properties", {}), **own.get("properties", {})}
            required = [*definition.get("required", []), *own.get("required", [])]
            scopes = [self.definitions[str(reference(o))] for o in own.get("anyOf", []) if "title" in o]
            for scope in scopes:
                properties |= scope["properties"]
            checks = [tuple(scope["required"]) for scope in scopes]
            self._struct(variant_name, {"properties": properties, "required": required}, (field, tag), checks)
            members.append(variant_name)
        opened = any(o.get("title") == "other" for o in definition.get("anyOf", [])) or name == "ContentBlock"
        union = f"Union[{', '.join(members)}]"
        if not opened:
            self.aliases.append(f"{name}: TypeAlias = {union}")
            return
        self.open_unions.append(name)
        self.aliases.append(
            f"if TYPE_CHECKING:\n    {name}: TypeAlias = Union[{', '.join([*members, 'Unknown'])}]\nelse:\n    {name} = {union}"
        )

    def _merged(self, name: str, parts: list[Schema], variants: list[tuple[str | None, str, str | None]]) -> None:
        """One struct for variants that only their members tell apart."""
        properties: Schema = {}
        for part in parts:
            properties |= part["properties"]
        required = [key for key in properties if all(key in part.get("required", []) for part in parts)]
        checks = []
        for part, (tag, field, _) in zip(parts, variants, strict=True):
            checks.append(
                tuple(key for key in [*([field] if tag else []), *part.get("required", [])] if key not in required)
            )
        tag_fields = {field for tag, field, _ in variants if tag}
        for field in tag_fields:
            properties = {field: {"type": "string"}} | properties
        self._struct(
            name,
            {"properties": properties, "required": required},
            None,
            list(dict.fromkeys(checks)) if all(checks) else [],
        )

    def _struct(
        self, name: str, definition: Schema, tag: tuple[str, str] | None = None, checks: Sequence[tuple[str, ...]] = ()
    ) -> None:
        for node in definition.get("properties", {}).values():
            target = reference(node)
            if "default" in node and target:
                self.write(target)
        tagging = f', tag_field="{tag[0]}", tag="{tag[1]}"' if tag else ""
        lines = [f"class {name}(Struct, frozen=True, kw_only=True{tagging}):"]
        for key, node in definition.get("properties", {}).items():
            lines.append(f"    {self._member(name, key, node, key in definition.get('required', []))}")
        if checks:
            lines += ["", "    def __post_init__(self) -> None:", *self._check(checks)]
        if len(lines) == 1:
            lines.append("    pass")
        self.structs.append("\n".join(lines))

    def _check(self, variants: Sequence[tuple[str, ...]]) -> list[str]:
        """Each variant is there if all its members are. Spelled out: this runs for every such object ever made."""
        there = [" and ".join(f"self.{name} is not UNSET" for name in names) for names in variants]
        words = " or ".join("+".join(names) for names in variants)
        return [f"        if not ({' or '.join(there)}):", f"            raise ValueError({f'needs {words}'!r})"]

    def _member(self, owner: str, key: str, node: Schema, required: bool) -> str:
        letters = "".join(letter for rule, letter in LENIENCY.items() if node.get(f"x-deserialize-{rule}"))
        if letters and key != "_meta":
            self.lenient.setdefault(owner, {})[key] = letters
        kind = self.annotation(node)
        if required:
            return f"{key}: {kind}"
        if "default" in node:
            target = reference(node)
            default = f"{target}()" if target and isinstance(node["default"], dict) else repr(node["default"])
            return f"{key}: {kind} = {default}"
        return f"{key}: {kind} = UNSET" if kind == "Any" else f"{key}: {kind} | UnsetType = UNSET"

    def annotation(self, node: Schema) -> str:
        if target := reference(node):
            return "Any" if target in FREE else target
        if "anyOf" in node:
            return " | ".join(dict.fromkeys(self.annotation(option) for option in node["anyOf"]))
        kinds = node.get("type", "any")
        parts = [self._plain(kind, node) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
        return " | ".join(parts)

    def _plain(self, kind: str, node: Schema) -> str:
        if kind == "array":
            return f"list[{self.annotation(node['items'])}]"
        if kind == "integer":
            return {"uint16": "Uint16", "uint32": "Uint32", "uint64": "Uint64"}.get(node.get("format", ""), "int")
        if kind == "object" and isinstance(node.get("additionalProperties"), dict):
            return f"dict[str, {self.annotation(node['additionalProperties'])}]"
        return SCALARS.get(kind, "Any")

    # The unions no rule above describes.

    def _write_SessionConfigSelectOptions(self, name: str, definition: Schema) -> None:
        parts = [self.definitions[n] for n in ("SessionConfigSelectOption", "SessionConfigSelectGroup")]
        self._merged("SessionConfigSelectEntry", parts, [(None, "", None), (None, "", None)])
        self.aliases.append(f"{name}: TypeAlias = list[SessionConfigSelectEntry]")

    def _write_MultiSelectItems(self, name: str, definition: Schema) -> None:
        parts = [self.definitions[n] for n in ("StringMultiSelectItems", "TitledMultiSelectItems")]
        self._merged(name, parts, [("string", "type", None), (None, "", None)])

    def _write_SetSessionConfigOptionRequest(self, name: str, definition: Schema) -> None:
        properties = definition["properties"] | {
            "type": {"type": "string"},
            "value": {"anyOf": [{"type": "boolean"}, {"type": "string"}]},
        }
        self._struct(name, definition | {"properties": properties, "required": [*definition["required"], "value"]})
        self.structs[-1] += (
            "\n\n    def __post_init__(self) -> None:\n"
            '        if isinstance(self.value, bool) != (self.type == "boolean"):\n'
            '            raise ValueError("value: a boolean with type \\"boolean\\", else the id of a choice")'
        )
