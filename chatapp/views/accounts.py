"""Log in, log out, sign up. Django's own views; ours is what becomes of a guest."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import alogout, get_user_model, login
from django.contrib.auth import views as auth
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST
from django.views.generic import FormView

from chatapp import stream
from chatapp.accounts import adopt, is_guest
from chatapp.forms.accounts import LogInForm, SignUpForm


class LogIn(auth.LoginView):
    """Log in; the threads that one began as a guest come along."""

    form_class = LogInForm

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        adopt(self.request.user, form.get_user())
        return super().form_valid(form)


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class SignUp(auth.RedirectURLMixin, FormView):
    """Make an account; a guest becomes it, with the same row and so with all threads."""

    form_class = SignUpForm
    template_name = "registration/signup.html"
    next_page = settings.LOGIN_REDIRECT_URL
    initial = {"username": ""}  # not the made-up name of the guest

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "instance": self._guest()}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs, **{self.redirect_field_name: self.get_redirect_url()})

    def form_valid(self, form: SignUpForm) -> HttpResponse:
        login(self.request, form.save())
        return HttpResponseRedirect(self.get_success_url())

    def _guest(self) -> Any:
        # A fresh object: the form writes into it, and a refused name must not show up as the person's own.
        user = self.request.user
        return get_user_model().objects.get(pk=user.pk) if is_guest(user) else None


@require_POST
async def log_out(request: HttpRequest) -> HttpResponse:
    """Log out, of open tabs too."""
    session_key = request.session.session_key
    await alogout(request)
    await stream.end_session(session_key)
    return redirect(settings.LOGOUT_REDIRECT_URL)


log_in = LogIn.as_view()
sign_up = SignUp.as_view()
