"""Ready tools. A pack is a function that returns tool objects to hand to a gateway."""
