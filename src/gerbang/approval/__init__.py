"""Approval: the machine of a request for a decision, and the one-use grant that opens the executor."""
