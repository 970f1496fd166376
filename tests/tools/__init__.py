"""Python functions as tools, what they return, what a person is shown, and their threads."""
