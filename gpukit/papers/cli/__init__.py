"""The commands that time systems and rebuild papers."""
