"""The one loop that writes: a pass reads, decides and acts on what is ready, and never sleeps."""
