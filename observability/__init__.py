"""What people and programs learn of the rig: text, JSON, metrics, the journal and the HTTP API. It is fed snapshots."""
