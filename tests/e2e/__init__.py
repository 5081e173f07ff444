"""Browser tests: Chromium against a real server process, and sockets without a browser."""
