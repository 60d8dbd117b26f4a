#!/usr/bin/env python
"""Runs a management command of the project."""

from __future__ import annotations

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")
    # Nobody has configured anything: a developer's checkout, where commands should just work. A deployment sets
    # SECRET_KEY, and its server does not come through this file.
    if not os.environ.get("SECRET_KEY") and not os.environ.get("DEBUG"):
        os.environ["DEBUG"] = "1"

    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
