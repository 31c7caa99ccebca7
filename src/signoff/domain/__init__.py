"""What are we talking about? The vocabulary of the whole product: frozen, pure, imported by every other room."""
