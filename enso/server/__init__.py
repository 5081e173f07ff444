"""The web server: routes, follows, the registry of live threads, and the rendering."""
