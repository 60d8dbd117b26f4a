"""What the staff sees: the threads with their sizes, to look at, and the people, who can be deleted with everything."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from branching import sizes
from branching.models import Thread
from chatapp.forms.accounts import StaffLogInForm

admin.site.site_header = admin.site.site_title = "Switchback"
admin.site.login_form = StaffLogInForm
admin.site.unregister([Group, User])


@admin.register(Thread)
class ThreadAdmin(admin.ModelAdmin):
    """A list to look at. What a person said is not shown beyond the title, and nothing can be changed."""

    list_display = ("title_or_id", "owner", "message_count", "checkpoint_count", "size", "updated_at")
    list_select_related = ("owner",)
    list_per_page = 25
    ordering = ("-updated_at",)
    search_fields = ("title", "owner__username")
    fields = (
        "id", "title", "owner", "assistant", "message_count", "checkpoint_count", "size", "created_at", "updated_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Thread]:
        return sizes.with_sizes(super().get_queryset(request))

    @admin.display(description=_("Conversation"), ordering="title")
    def title_or_id(self, thread: Thread) -> str:
        return str(thread)

    @admin.display(description=_("Messages"), ordering="message_count")
    def message_count(self, thread: Any) -> int:
        return thread.message_count

    @admin.display(description=_("Saved steps"), ordering="checkpoint_count")
    def checkpoint_count(self, thread: Any) -> int:
        return thread.checkpoint_count

    @admin.display(description=_("Size"), ordering="bytes")
    def size(self, thread: Any) -> str:
        return filesizeformat(thread.bytes)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Thread | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Thread | None = None) -> bool:
        return False


@admin.register(User)
class PersonAdmin(UserAdmin):
    """Accounts as Django has them. Deleting one deletes the threads too, in the same transaction."""

    def get_deleted_objects(self, objs: Iterable[User], request: HttpRequest) -> tuple[list[str], dict, set, list]:
        """What the question names: people and how many threads each has, instead of every row of them."""
        people = list(objs)
        named = [f"{person.get_username()}: {_threads_of(person)}" for person in people]
        counts = {User._meta.verbose_name_plural: len(people)}
        return named, counts, set(), []


def _threads_of(person: User) -> str:
    count = person.threads.count()
    return ngettext("%(count)d conversation", "%(count)d conversations", count) % {"count": count}
