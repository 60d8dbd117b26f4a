"""The forms by which people get in."""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.forms import AuthenticationForm, UserCreationForm
from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

TRIES_FOR_A_NAME, TRIES = 10, 100
"""Wrong passwords that may come from one address: for one name, and for all of them."""
WAIT = 300
"""Seconds, from the first of them on, after which they are forgotten."""


class Counted:
    """A log-in form that looks at no password any more once too many were wrong.

    Counted by address, so that nobody can lock somebody else out. The count is this process's own: there is only one.
    """

    def clean(self) -> dict[str, Any]:
        """The name and the password, if they are somebody's. Raises `ValidationError`."""
        limits = self._limits()
        if any(cache.get(key, 0) >= most for key, most in limits.items()):
            raise ValidationError(gettext("Too many wrong passwords. Wait five minutes, then try again."), code="many")
        try:
            cleaned = super().clean()
        except ValidationError:
            for key in limits:
                cache.add(key, 0, WAIT)
                cache.incr(key)
            raise
        return cleaned

    def _limits(self) -> dict[str, int]:
        address = self.request.META.get("REMOTE_ADDR", "")
        name = hashlib.sha256(self.cleaned_data.get("username", "").encode()).hexdigest()
        return {f"wrong:{address}:{name}": TRIES_FOR_A_NAME, f"wrong:{address}": TRIES}


class LogInForm(Counted, AuthenticationForm):
    """A name and a password."""


class StaffLogInForm(Counted, AdminAuthenticationForm):
    """The same for the admin."""


class SignUpForm(UserCreationForm):
    """A name and a password, for a new account or for the guest given as `instance`."""

    class Meta:
        model = User
        fields = ("username",)
