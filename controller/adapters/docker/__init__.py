"""The Docker engine behind the ports: the only package that imports the Docker SDK.

`engine` is the whole; `wire` carries bounded requests, `translate` turns refusals into Steward's errors, `read` and `create`
convert documents, and `containers`, `images`, `logs` and `events` implement one port each.
"""

from __future__ import annotations
