"""One call of an agent in a run: its turns, and the people whom it needs in between.

`README.md` beside this file tells the life of a turn, with a picture, and what happens after a
crash. Read it first. `run_agent.call_agent` is where a call begins.
"""
