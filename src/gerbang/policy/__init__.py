"""Policy: a pure function from one input document to a decision with reasons."""
