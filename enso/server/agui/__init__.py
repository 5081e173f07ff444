"""The AG-UI protocol over threads: its clients prompt, watch and answer as a pane does.

Source: the protocol's version 1.0, in the shapes of the package ``ag-ui-protocol``.
"""
