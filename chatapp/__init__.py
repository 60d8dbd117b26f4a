"""The web: the Django project and everything that knows a request or a socket."""
