"""What all adapters share: asking for decisions, which GPUs of a node, and what is measured. Python 3.8 and newer."""
