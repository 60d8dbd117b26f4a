"""How one wants to see the pages."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from chatapp.comfort import THEME, THEMES

YEAR = 365 * 24 * 60 * 60


@require_POST
async def theme(request: HttpRequest) -> HttpResponse:
    """Light, dark, or whatever the system says."""
    back = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure())
    response = redirect(back if is_ours else "home")
    chosen = request.POST.get("theme")
    if chosen in THEMES:
        secure = settings.SESSION_COOKIE_SECURE
        response.set_cookie(THEME, chosen, max_age=YEAR, secure=secure, httponly=True, samesite="Lax")
    else:
        response.delete_cookie(THEME, samesite="Lax")
    return response
