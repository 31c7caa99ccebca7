"""Which methods signoff speaks, held against the protocol's own tables.

Every stable method is there on its side, `session/fork` is the only unstable one, and `session/set_model`, which the
protocol dropped and clients still use, is the only one of our own.
"""

from collections.abc import Collection, Mapping

import msgspec

from signoff.wire.acp import Side
from signoff.wire.acp_schema import STABLE_METHODS, UNSTABLE_METHODS

Methods = Mapping[Side, Collection[str]]


class MethodCatalog(msgspec.Struct, frozen=True):
    stable_baseline: Methods
    unstable_baseline: Methods
    unstable_supported: Methods
    project_extensions: Methods

    def all_supported(self, side: Side) -> frozenset[str]:
        """What a peer of this side must handle, and nothing else."""
        parts = (self.stable_baseline, self.unstable_supported, self.project_extensions)
        return frozenset(method for part in parts for method in part.get(side, ()))


CATALOG = MethodCatalog(
    stable_baseline={"agent": STABLE_METHODS["agent"], "client": STABLE_METHODS["client"]},
    unstable_baseline={"agent": UNSTABLE_METHODS["agent"], "client": UNSTABLE_METHODS["client"]},
    unstable_supported={"agent": ("session/fork",)},
    project_extensions={"agent": ("session/set_model",)},
)


def deviations(side: Side, registered: Collection[str], catalog: MethodCatalog = CATALOG) -> list[str]:
    """In words, where the handlers of one side differ from the catalog; methods of extensions (`_…`) are free."""
    wanted = catalog.all_supported(side)
    found = {method for method in registered if not method.startswith("_")}
    missing = [f"{method}: no handler" for method in sorted(wanted - found)]
    unstable = catalog.unstable_baseline.get(side, ())
    extra = [
        f"{method}: unstable, and not one we support"
        if method in unstable
        else f"{method}: in no table of the protocol"
        for method in sorted(found - wanted)
    ]
    return missing + extra
