"""Rules: the algebra of decisions, every comparison, every way a policy can be wrong."""
