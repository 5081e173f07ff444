"""What runs a thread. Only here is a model library imported or a process started.

``builtin`` is Enso's own agent, ``pi`` the real one; neither knows the other. What both use stands
beside them: ``models`` (the agent directory's models and keys), ``instructions`` (what people write
for the agent), and single modules.
"""
