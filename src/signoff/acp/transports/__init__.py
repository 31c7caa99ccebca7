"""Ways to carry frames: pipes and WebSockets."""
