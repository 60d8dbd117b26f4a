"""The addresses of sockets."""

from __future__ import annotations

from django.urls import path

from chatapp.consumers import SeveralConsumer, ThreadConsumer

websocket_urlpatterns = [
    path("ws/threads/<uuid:thread_id>/", ThreadConsumer.as_asgi()),
    path("ws/threads/<uuid:thread_id>/several/<uuid:run_id>/", SeveralConsumer.as_asgi()),
]
