"""The composition root: settings, wiring and the processes that run everything."""
