"""The forms by which people get in."""

from __future__ import annotations

from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User


class SignUpForm(UserCreationForm):
    """A name and a password, for a new account or for the guest given as `instance`."""

    class Meta:
        model = User
        fields = ("username",)
