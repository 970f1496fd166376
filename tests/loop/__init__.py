"""The loop: run machine, batch plan, budget, transcript, profiles and their texts."""
