"""What a person reads who has no model yet: one screen, and each way works by itself."""


def how_to_begin() -> str:
    return """\
signoff needs a model to run an agent. Any one of these will do:

  A key of a vendor       export ANTHROPIC_API_KEY=…      signoff run -m anthropic/claude-sonnet-4-5 "TASK"
                          export OPENAI_API_KEY=…         signoff run -m openai/gpt-5 "TASK"
  A model on this machine ollama pull qwen3               signoff run -m ollama/qwen3 "TASK"
  Anything compatible     export OPENAI_BASE_URL=http://…/v1 OPENAI_API_KEY=…
  No model at all         signoff demo                    signoff run -m echo/echo "hello"

  To keep a choice        export SIGNOFF_MODEL=PROVIDER/MODEL
                          signoff config set model.name PROVIDER/MODEL

"signoff models" lists what your keys can reach. docs/providers.md tells the rest.
"""
