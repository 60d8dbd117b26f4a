"""The addresses of pages and commands."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path
from django.views.i18n import set_language

from chatapp.views import (
    accounts,
    actions,
    carrying,
    chart,
    choices,
    compare,
    find,
    lesson,
    machine,
    messages,
    runs,
    sharing,
    storage,
    threads,
    travel,
)

thread = [
    path("", threads.show, name="thread"),
    path("rename/", threads.rename, name="thread-rename"),
    path("choices/", choices.change, name="choices"),
    path("keep/", threads.keep, name="thread-keep"),
    path("delete/", threads.delete, name="thread-delete"),
    path("storage/", storage.show, name="storage"),
    path("storage/<int:pk>/delete/", storage.delete, name="branch-delete"),
    path("head/", messages.switch, name="switch"),
    path("head/undo/", messages.undo, name="undo"),
    path("messages/", messages.send, name="send"),
    path("messages/<int:pk>/", messages.show, name="message"),
    path("messages/<int:pk>/earlier/", messages.earlier, name="earlier"),
    path("messages/<int:pk>/later/", messages.later, name="later"),
    path("messages/<int:pk>/edit/", messages.edit, name="edit"),
    path("messages/<int:pk>/replay/", messages.replay, name="replay"),
    path("messages/<int:pk>/again/", messages.again, name="again"),
    path("messages/<int:pk>/label/", chart.label, name="label"),
    path("messages/<int:pk>/compare/", compare.show, name="compare"),
    path("map/", chart.show, name="map"),
    path("runs/", runs.resume, name="runs"),
    path("runs/<uuid:run_id>/stop/", runs.stop, name="stop"),
    path("checkpoints/", machine.show, name="checkpoints"),
    path("checkpoints/check/", machine.consistency, name="check"),
    path("checkpoints/find/", find.find, name="find"),
    path("checkpoints/<str:checkpoint_id>/state/", machine.state, name="state"),
    path("checkpoints/<str:checkpoint_id>/difference/", machine.difference, name="difference"),
    path("checkpoints/<str:checkpoint_id>/replay/", travel.replay, name="replay-from"),
    path("checkpoints/<str:checkpoint_id>/thread/", travel.branch_off, name="branch-off"),
    path("checkpoints/<str:checkpoint_id>/fork/", travel.fork, name="fork"),
    path("checkpoints/<str:checkpoint_id>/", threads.checkpoint, name="checkpoint"),
    path("checkpoints/<str:checkpoint_id>/answer/", actions.answer, name="answer"),
    path("checkpoints/<str:checkpoint_id>/decide/", actions.decide_again, name="decide-again"),
    path("share/", sharing.manage, name="share"),
    path("share/<int:pk>/revoke/", sharing.revoke, name="share-revoke"),
    path("export.json", carrying.as_json, name="export-json"),
    path("export.md", carrying.as_markdown, name="export-markdown"),
    path("lesson/<slug:name>/", lesson.chapter, name="lesson-chapter"),
    path("actions/", actions.show, name="actions"),
    path("bookings/<str:order>/cancel/", actions.cancel, name="booking-cancel"),
]

urlpatterns = [
    path("", threads.home, name="home"),
    path("threads/", threads.create, name="threads"),
    path("import/", carrying.bring, name="import"),
    path("lesson/", lesson.begin, name="lesson"),
    path("search/", threads.search, name="search"),
    path("threads/<uuid:thread_id>/", include(thread)),
    path("shared/<str:token>/", sharing.show, name="shared"),
    path("shared/<str:token>/<int:pk>/", sharing.earlier, name="shared-earlier"),
    path("admin/", admin.site.urls),
    path("login/", accounts.log_in, name="login"),
    path("logout/", accounts.log_out, name="logout"),
    path("signup/", accounts.sign_up, name="signup"),
    path("i18n/setlang/", set_language, name="set_language"),
]
