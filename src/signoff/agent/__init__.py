"""Our own agent: a conversation with a model whose every call goes through the gate."""
