"""One call of an agent in a run: its turns, and the questions to people between them.

`README.md` in this folder explains the life of a turn and the recovery after a crash. Read it
first. A call begins in `run_agent.call_agent`.
"""
