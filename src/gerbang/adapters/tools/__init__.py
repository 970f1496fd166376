"""Ways to run a tool. Each gives a contract and a body, never a way round the gate."""
