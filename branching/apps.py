"""The app as Django sees it."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class BranchingConfig(AppConfig):
    """The domain: threads, and what is known about their checkpoints."""

    name = "branching"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from branching import fulltext  # it needs the models, which come after this module

        post_migrate.connect(fulltext.prepare, sender=self)
