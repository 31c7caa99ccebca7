"""What a person reads who has no model yet: one screen, and each way works by itself."""


def how_to_begin() -> str:
    return """\
signoff needs a model to run an agent. Any one of these will do:

  A key of a vendor
      export ANTHROPIC_API_KEY=…        (or OPENAI_API_KEY, GEMINI_API_KEY, …)
      signoff run -m anthropic/claude-sonnet-4-5 "TASK"
  A model on this machine
      ollama pull qwen3
      signoff run -m ollama/qwen3 "TASK"
  Any server that speaks OpenAI's protocol
      export OPENAI_BASE_URL=http://127.0.0.1:8080/v1
      signoff run -m openai/MODEL "TASK"
  No model at all
      signoff demo
      signoff run -m echo/echo "hello"
  To keep a choice
      signoff config set model.name PROVIDER/MODEL
      export SIGNOFF_MODEL=PROVIDER/MODEL

"signoff models" lists what your keys can reach; docs/providers.md has the rest.
"""
