"""Other people's trainers with our objectives and environments; each module needs the extra of its name."""
