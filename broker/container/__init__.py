"""What the image's first process does: settings from the environment, a broker, the care of orphans."""
