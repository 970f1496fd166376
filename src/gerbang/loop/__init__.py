"""The loop: pure machines for the run and for one answer's batch, profiles, and the texts they show."""
