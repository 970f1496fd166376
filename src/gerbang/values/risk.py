"""Risk classes: the closed list of what a tool may do, ordered by blast radius."""

from enum import StrEnum
from typing import Final


class RiskClass(StrEnum):
    """What a call of the tool can change or reach. A tool without a class cannot be registered."""

    is_read: bool
    """True for classes that change nothing: their calls run side by side and may be repeated."""

    COMPUTE = "compute"
    READ_INTERNAL = "read_internal"
    READ_EXTERNAL = "read_external"
    DRAFT = "draft"
    WRITE_INTERNAL = "write_internal"
    WRITE_EXTERNAL = "write_external"
    EXTERNAL_COMMUNICATION = "external_communication"
    CODE_EXECUTION = "code_execution"
    TRANSACTIONAL = "transactional"
    DESTRUCTIVE = "destructive"

    @property
    def rank(self) -> int:
        """Position by blast radius, 0 for `compute`."""
        return _RANK[self]


READS: Final = frozenset({RiskClass.COMPUTE, RiskClass.READ_INTERNAL, RiskClass.READ_EXTERNAL})
for _risk in RiskClass:
    _risk.is_read = _risk in READS
_RANK: Final = {risk: rank for rank, risk in enumerate(RiskClass)}
