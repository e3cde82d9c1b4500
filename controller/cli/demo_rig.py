"""The rig file of a demo: two cards, and engines that are never quite still."""

from typing import Final

RIG: Final = """\
# The rig of this demo: two cards that are not there, and what the engines on them do. Save a change and they do it;
# docs/simulation.md has every key.
gpus:
  - {profile: rtx-3090}
  - {profile: rtx-3090}

simulation:
  engines:
    "*":                              # every engine, where its own entry says nothing else
      load: 2s                        # how long a boot takes
      drain: 500ms                    # how long it goes on with its requests when it is told to end
      vram_mib: 20480                 # what it holds of each of its cards
      tps: 40                         # tokens a second for one request
      changes:                        # so long after its start: people come with requests, and go
        - {after: 6s, requests: 2}
        - {after: 7s, requests: 0}
        - {after: 12s, requests: 1, tps: 43}
        - {after: 13s, requests: 0}
        - {after: 18s, requests: 3, tps: 34}
        - {after: 19s, requests: 0}
        - {after: 26s, requests: 2, tps: 38}
        - {after: 27s, requests: 0}
        - {after: 34s, requests: 1, tps: 42}
        - {after: 35s, requests: 0}
        - {after: 45s, requests: 4, tps: 31}
        - {after: 46s, requests: 0}
        - {after: 60s, requests: 2, tps: 39}
        - {after: 61s, requests: 0}

    # To see what Steward makes of an engine that fails, take the `#` away here and save.
    # code:
    #   exits: 10s                    # it crashes so long after each start; with 1s while it still loads
    #   exit_log: "torch.OutOfMemoryError: CUDA out of memory."
    #   hang: true                    # it says that it is well and never answers

  # cards:                            # so long after the beginning of the demo:
  #   - {after: 60s, card: 1, foreign: {mib: 9000, process: a-game}}
  #   - {after: 90s, card: 1, lost: true}
"""
