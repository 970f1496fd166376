"""Approval: the machine of a request for a person's decision, and the one-use grant that opens the executor."""
