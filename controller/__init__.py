"""The machine that keeps a rig the way its estate says: it knows no resource kinds, only how to read, decide and act.

Imports go one way: cli > app > (loop | adapters | sources | store | simulation) > resolve > solver > (vram | rollout) >
dialects > ports > model, settings, errors. `make check` holds that line.
"""
