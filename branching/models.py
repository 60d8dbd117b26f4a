"""What the app's database keeps of a thread: HEAD, the index over its checkpoints, its runs and the log of moves."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone


class Thread(models.Model):
    """One conversation. Its `id` is LangGraph's `thread_id`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="threads")
    title = models.CharField(max_length=200, blank=True)
    assistant = models.SlugField(max_length=50)
    model = models.CharField(max_length=100, blank=True, help_text="As configured; empty, the first one.")
    instructions = models.TextField(blank=True, help_text="What the model is told before the conversation.")
    head = models.CharField(max_length=64, null=True, blank=True, help_text="Checkpoint id; written by heads.py alone.")
    head_version = models.PositiveIntegerField(default=0)
    revision = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now_add=True, db_index=True)
    is_pinned = models.BooleanField(default=False)
    is_archived = models.BooleanField(default=False)

    class Meta:
        indexes = [models.Index(fields=["owner", "-updated_at"], name="thread_by_owner")]

    def __str__(self) -> str:
        return self.title or str(self.id)


class Message(models.Model):
    """One version of a message: a node of the conversation tree. Siblings share `parent`."""

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="messages")
    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="children", db_index=False)
    jump = models.ForeignKey(
        "self",
        on_delete=models.DO_NOTHING,
        null=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
        help_text="The ancestor at depth `depth & (depth - 1)`, by which ancestry.py skips.",
    )
    message_id = models.CharField(max_length=200, help_text="The id in the graph's state.")
    path = models.CharField(max_length=64, help_text="Digest of all messages from the root to this one.")
    depth = models.PositiveIntegerField(help_text="Messages from the root to this one, itself included.")
    kind = models.CharField(max_length=8, choices=[("human", "human"), ("ai", "ai"), ("tool", "tool")])
    text = models.TextField(blank=True)
    data = models.JSONField(default=dict)
    label = models.CharField(max_length=60, blank=True, help_text="What a person calls this version.")
    end = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        help_text="Where HEAD was when this version was left: see places.py. Written by heads.py.",
    )
    deletion = models.ForeignKey(
        "Deletion",
        on_delete=models.SET_NULL,
        null=True,
        related_name="messages",
        db_index=False,
        help_text="With what it was deleted: hidden, and on the way out. See deletions.py.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "path"], name="one_row_per_version")]
        indexes = [
            models.Index(fields=["thread", "message_id"], name="message_by_id"),
            models.Index(fields=["parent", "deletion", "id"], name="message_by_parent"),
            models.Index(fields=["thread", "parent", "deletion", "id"], name="first_message", condition=Q(parent=None)),
            models.Index(fields=["thread"], name="message_by_label", condition=~Q(label="")),
            models.Index(fields=["deletion"], name="message_by_deletion", condition=~Q(deletion=None)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.message_id}"


class IndexedCheckpoint(models.Model):
    """A checkpoint as the index knows it, so that the page never has to read the checkpoint itself."""

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="checkpoints")
    checkpoint_id = models.CharField(max_length=64)
    parent_id = models.CharField(max_length=64, null=True)
    origin_id = models.CharField(
        max_length=64, help_text="Itself, or for a fork copy the checkpoint that LangGraph copied."
    )
    source = models.CharField(max_length=8)
    step = models.IntegerField()
    next = models.JSONField(default=list)
    passed = models.BooleanField(default=False, help_text="It only announced a message that has come since.")
    message = models.ForeignKey(
        Message, on_delete=models.CASCADE, null=True, related_name="checkpoints", db_index=False
    )
    run = models.ForeignKey("Run", on_delete=models.SET_NULL, null=True, related_name="checkpoints")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "checkpoint_id"], name="one_row_per_checkpoint")]
        indexes = [
            models.Index(fields=["message", "id"], name="checkpoint_by_message"),
            models.Index(fields=["message", "-id"], name="checkpoint_to_show", condition=Q(passed=False)),
            models.Index(fields=["thread", "parent_id"], name="checkpoint_by_parent"),
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.step} {self.checkpoint_id}"


class Run(models.Model):
    """One execution of the graph on a thread."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        WAITING = "waiting"
        DONE = "done"
        STOPPED = "stopped"
        FAILED = "failed"
        LOST = "lost"

    ACTIVE = (Status.QUEUED, Status.RUNNING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="runs")
    kind = models.CharField(max_length=8, help_text="send, replay, edit, resume or answer.")
    base = models.CharField(max_length=64, null=True, help_text="The checkpoint it starts from; null on a new thread.")
    tip = models.CharField(max_length=64, null=True, help_text="Its newest checkpoint that is on disk.")
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.QUEUED)
    error = models.CharField(max_length=40, blank=True, help_text="A code of failures.py.")
    input = models.JSONField(null=True, help_text='The human message it carries: {"id", "text"}.')
    partial = models.TextField(blank=True, help_text="What a failed run had written.")
    beside = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        related_name="company",
        help_text="With which run it was begun.",
    )
    key = models.CharField(max_length=64, null=True, help_text="The command's idempotency key.")
    lease_until = models.DateTimeField(help_text="Renewed by the process that runs it; past means that it died.")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["thread", "key"], name="one_run_per_key"),
            models.UniqueConstraint(
                fields=["thread"],
                condition=Q(status__in=["queued", "running"], beside=None),
                name="one_active_run_per_thread",
            ),
        ]
        indexes = [
            models.Index(fields=["thread", "tip", "-created_at"], name="run_by_tip"),
            models.Index(fields=["thread", "base", "-created_at"], name="run_by_base"),
            models.Index(fields=["thread", "-created_at"], name="run_by_age"),
            models.Index(fields=["thread", "status", "ended_at"], name="run_by_status"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.status} {self.id}"

    @property
    def is_lost(self) -> bool:
        """Whether the process that ran it has died without a word."""
        return self.status == self.Status.LOST or (self.status in self.ACTIVE and self.lease_until < timezone.now())


class HeadMove(models.Model):
    """One move of HEAD: what Undo takes back and what "what happened here" tells."""

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="moves")
    origin = models.CharField(max_length=64, null=True, help_text="Where HEAD was; null on an empty thread.")
    target = models.CharField(max_length=64, null=True, help_text="Where it went, or where its run has led it since.")
    why = models.CharField(
        max_length=8, help_text="send, replay, edit, resume, answer, switch, undo, delete, remove, restore or repair."
    )
    run = models.ForeignKey(Run, on_delete=models.CASCADE, null=True, related_name="moves")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True)
    key = models.CharField(max_length=64, null=True, help_text="The command's idempotency key, where no run has it.")
    chosen = models.BigIntegerField(null=True, help_text="The message whose version an arrow or a hit led to.")
    undone = models.BooleanField(default=False, help_text="Taken back, or nothing that Undo could take back.")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "key"], name="one_move_per_key")]
        indexes = [
            models.Index(fields=["thread", "-id"], name="move_to_undo", condition=Q(undone=False)),
            models.Index(fields=["thread", "target"], name="move_by_target"),
        ]

    def __str__(self) -> str:
        return f"{self.why}: {self.origin} -> {self.target}"


class Deletion(models.Model):
    """A version that a person has deleted, with all that follows it: its messages are hidden, and go before long."""

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="deletions")
    move = models.OneToOneField(
        HeadMove, on_delete=models.SET_NULL, null=True, related_name="deletion", help_text="The move that told of it."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.thread_id} {self.created_at}"


class Share(models.Model):
    """A link to one version, for people who have no account: whoever knows its `token` may read it."""

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="shares")
    token = models.CharField(max_length=43, unique=True, help_text="256 bits that nobody can guess.")
    path = models.CharField(max_length=64, help_text="The `path` of its last message: a rebuilt index keeps it.")
    title = models.CharField(max_length=200, blank=True, help_text="What the thread was called then.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "path"], name="one_share_per_version")]

    def __str__(self) -> str:
        return f"{self.title} {self.path[:8]}"


class Play(models.Model):
    """A thread that was begun with a scenario: its script, and how far it has got. See scenarios/plays.py."""

    thread = models.OneToOneField(Thread, on_delete=models.CASCADE, primary_key=True, related_name="play")
    source = models.TextField(help_text="The scenario, as TOML.")
    calls = models.JSONField(default=list, help_text='Each call of the model: {"reply": number, "asked": texts}.')
    held_run = models.UUIDField(null=True, help_text="The run whose reply is held.")
    released = models.PositiveIntegerField(default=0, help_text="Up to this call, replies are held no longer.")
    outcomes = models.JSONField(default=list, help_text="What came of each step that was played in the server.")

    def __str__(self) -> str:
        return f"play of {self.thread_id}"


class StoredThread(models.Model):
    """A thread as the checkpoint saver knows it. LangGraph's name for it may be any text; ours is the Thread's id."""

    name = models.TextField()
    thread = models.OneToOneField(
        Thread, on_delete=models.CASCADE, null=True, related_name="stored", help_text="Its Thread, with which it goes."
    )

    class Meta:
        # Not on the field: that would make a second index on PostgreSQL.
        constraints = [models.UniqueConstraint(fields=["name"], name="one_stored_thread")]

    def __str__(self) -> str:
        return self.name


class StoredCheckpoint(models.Model):
    """A checkpoint of LangGraph, whole but for the pieces that its body names. See saver.py and encoding.py."""

    thread = models.ForeignKey(StoredThread, on_delete=models.CASCADE, related_name="checkpoints", db_index=False)
    ns = models.TextField(help_text="Empty, or the subgraph it belongs to.")
    checkpoint_id = models.TextField()
    parent_id = models.TextField(null=True)
    run_id = models.TextField(null=True)
    body = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "ns", "checkpoint_id"], name="one_stored_checkpoint")]
        indexes = [models.Index(fields=["run_id"], name="stored_by_run", condition=Q(run_id__isnull=False))]

    def __str__(self) -> str:
        return self.checkpoint_id


class StoredWrites(models.Model):
    """What a task wrote after a checkpoint: pending until the next one has taken it in."""

    pk = models.CompositePrimaryKey("thread", "ns", "checkpoint_id", "task_id")
    thread = models.ForeignKey(StoredThread, on_delete=models.CASCADE, related_name="writes", db_index=False)
    ns = models.TextField()
    checkpoint_id = models.TextField()
    task_id = models.TextField()
    body = models.BinaryField(help_text="A list of the task's path, the place, the channel and the value of each.")

    def __str__(self) -> str:
        return f"{self.task_id} after {self.checkpoint_id}"


class Piece(models.Model):
    """A message, a large value, or a node in the tree of a list: named by its content, and stored once for a thread."""

    pk = models.CompositePrimaryKey("thread", "name")
    thread = models.ForeignKey(StoredThread, on_delete=models.CASCADE, related_name="pieces", db_index=False)
    name = models.BinaryField(max_length=16)
    data = models.BinaryField()

    def __str__(self) -> str:
        return bytes(self.name).hex()


class Action(models.Model):
    """One thing that an assistant does to the world, or asks leave to do: a step of the graph on one branch.

    LangGraph's id of the step (`task_id`) follows from the checkpoint before it and from the step's place there, the
    tool call that it carries out. It is the same each time this step runs: when it goes on after an approval, is
    resumed after a crash, or is tried again. So what hangs on this row is done once. A replay sets out from a copy of
    the checkpoint: its steps have other ids and rows of their own, for it is a new decision.
    """

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="actions")
    checkpoint_id = models.CharField(max_length=64, help_text="The one before the step: it carries the question.")
    task_id = models.CharField(max_length=64)
    node = models.CharField(max_length=100)
    name = models.CharField(max_length=100, blank=True, help_text="The tool.")
    call_id = models.CharField(max_length=200, blank=True, help_text="The tool call that it carries out.")
    arguments = models.JSONField(default=dict)
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, related_name="actions")
    times = models.PositiveIntegerField(default=0, help_text="How often the step has run.")
    interrupt_id = models.CharField(max_length=64, blank=True, help_text="Set once the question has been asked.")
    payload = models.JSONField(null=True, help_text="The question.")
    answer = models.JSONField(null=True, help_text='{"type": "approve", "reject" or "edit", ...}: see actions.py.')
    answered_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    answered_at = models.DateTimeField(null=True)
    result = models.TextField(blank=True, help_text="What the tool has said of it.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["thread", "checkpoint_id", "task_id"], name="one_action_per_step")
        ]

    def __str__(self) -> str:
        return f"{self.name or self.node} {self.task_id}"


class Booking(models.Model):
    """A room that was booked: it stands outside every checkpoint, so that no travel in time undoes it.

    It is made under the key of its `Action`, that is of thread, branch (the checkpoint that asked) and tool call; each
    key has room for one booking, so a resume or a retry finds the one that is there. It goes with its thread.
    """

    thread = models.ForeignKey(Thread, on_delete=models.CASCADE, related_name="bookings")
    action = models.OneToOneField(Action, on_delete=models.CASCADE, related_name="booking")
    hotel_id = models.CharField(max_length=40)
    room = models.CharField(max_length=20)
    check_in = models.DateField()
    nights = models.PositiveSmallIntegerField()
    total = models.PositiveIntegerField()
    currency = models.CharField(max_length=3)
    created_at = models.DateTimeField(auto_now_add=True)
    cancelled_at = models.DateTimeField(null=True)
    cancelled_by = models.OneToOneField(
        Action,
        on_delete=models.SET_NULL,
        null=True,
        related_name="cancelled",
        help_text="Null too where a person did it by hand.",
    )

    def __str__(self) -> str:
        return self.order

    @property
    def order(self) -> str:
        """The number by which people and models name it."""
        return f"XA-{1000 + self.pk}"
