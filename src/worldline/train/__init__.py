"""Training world models: rewards, losses and the three stages."""
