"""What the contracts of examples/contracts run. Nothing here touches the world."""
