"""Values: canonical JSON, strict YAML, and the promises of the small types."""
