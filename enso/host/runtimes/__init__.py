"""What runs a thread. Only here is a model library imported or a process started."""
