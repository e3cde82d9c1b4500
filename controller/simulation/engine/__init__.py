"""The simulated engine: a program of its own on the standard library alone, and the vocabulary that its scripts are written in.

Nothing here imports anything of Steward, so that the folder can be copied into a container image and be started by any Python:
`python -m controller.simulation.engine`.
"""
