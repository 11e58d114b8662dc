"""Data sets that environments read: where they come from, how they are fetched and how they are checked."""
