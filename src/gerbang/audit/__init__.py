"""The audit chain and the masking of what goes into it."""
