"""Ways to reach people who approve, and to read the files that an approval is tied to."""
