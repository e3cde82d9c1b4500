"""HTTP to engines: one bounded exchange, and what its answer means. The only folder that knows httpx."""
