"""Pages of the web server, and reports."""
