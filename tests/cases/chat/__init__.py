"""Chat and web services: what their replies and refusals mean."""
