"""The async shell that drives the pure stages: gate, executor, recorder, reader of models, run driver."""
