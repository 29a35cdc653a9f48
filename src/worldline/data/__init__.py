"""Training data: filters, loss masks, rows for continued pre-training, fine-tuning and reinforcement learning."""
