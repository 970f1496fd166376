"""The console: pages for the people who look after agents. Server-rendered, everything shipped."""
