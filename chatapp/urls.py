"""The addresses."""

from __future__ import annotations

from django.urls import path
from django.views.i18n import set_language

from chatapp.views import accounts

urlpatterns = [
    path("login/", accounts.log_in, name="login"),
    path("logout/", accounts.log_out, name="logout"),
    path("signup/", accounts.sign_up, name="signup"),
    path("i18n/setlang/", set_language, name="set_language"),
]
