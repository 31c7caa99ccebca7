"""What does the model answer? One streaming Protocol, thin adapters, nothing imported before it is used."""
