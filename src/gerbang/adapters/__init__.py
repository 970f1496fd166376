"""The outside world behind the ports: models, tools, stores."""
