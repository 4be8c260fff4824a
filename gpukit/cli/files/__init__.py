"""Commands for artifacts and data sets."""
