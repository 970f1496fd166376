"""Approval: the machine, and the grant that opens the executor once."""
