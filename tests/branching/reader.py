"""What a person who remembers everything expects of a thread: where HEAD is, and where the arrows and Undo lead.

In plain Python, from the rules that README and design give, and from nothing that `heads.py` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from branching.tree import Tree
from branching.types import Checkpoint

Path = tuple[str, ...]
"""A place in the conversation: the ids of the messages from the first to this one."""


def path_of(checkpoint: Checkpoint) -> Path:
    return tuple(message.id for message in checkpoint.messages)


@dataclass(eq=False)
class Journey:
    """One run: where it set out, and how far it has got."""

    base: str | None
    tip: str | None = None

    @property
    def place(self) -> str | None:
        return self.tip or self.base


@dataclass(eq=False)
class Step:
    """One move of HEAD that can be undone."""

    origin: str | None
    target: str | None
    journey: Journey | None = None
    """The run that leads on from `target`, while the reader is with it."""
    left: Journey | None = None
    """The run that the reader was with, and left by this move."""
    undone: bool = False

    @property
    def leads_somewhere(self) -> bool:
        return not self.undone and self.target is not None and (self.journey or self.target != self.origin)


@dataclass(eq=False)
class Reader:
    """Looks at one thread."""

    head: str | None = None
    here: Path = ()
    after: dict[Path, str | None] = field(default_factory=dict)
    """What was shown after each place when it was last on screen; None where the screen ended there."""
    steps: list[Step] = field(default_factory=list)
    landed: str | None = None
    """Where the last undo led, as long as nothing else was done since."""
    journeys: list[Journey] = field(default_factory=list)
    """The runs that may still get further: those under way, and the dead that have not been recovered."""

    def lands(self, at: Checkpoint) -> None:
        """HEAD is here now, and this is what it shows."""
        self.head, self.here = at.id, path_of(at)
        for depth, message in enumerate(self.here):
            self.after[self.here[:depth]] = message
        self.after[self.here] = None

    def returns(self, place: Path) -> Path:
        """Where going back to a version leads: as deep as one was when one left it."""
        while message := self.after.get(place):
            place = (*place, message)
        return place

    def moves(self, to: Checkpoint, journey: Journey | None = None) -> None:
        """HEAD goes elsewhere; with `journey` that run sets out from there."""
        self.steps.append(Step(self.head, to.id, journey, self._company(journey)))
        self.landed = None
        self.lands(to)

    def _company(self, journey: Journey | None) -> Journey | None:
        """The run that the reader is with, and is about to leave."""
        others = (each for each in self.journeys if each is not journey)
        return next((each for each in others if each.place == self.head), None)

    def says(self, journey: Journey) -> None:
        """A run sets out from where HEAD is."""
        self.steps.append(Step(self.head, self.head, journey, self._company(journey)))
        self.landed = None

    def tries_again(self, journey: Journey) -> None:
        """A run goes on from where HEAD is; it belongs to the move that led here."""
        last = self.last_step()
        if last and last.target == self.head:
            last.journey = journey
        else:
            self.says(journey)

    def hears(self, journey: Journey, checkpoint: Checkpoint, *, may_follow: bool = True) -> bool:
        """The run has got to this checkpoint. Whether HEAD goes along."""
        follows = may_follow and journey.place == self.head and not self._took_back(journey)
        journey.tip = checkpoint.id
        if follows:
            for step in self.steps:
                step.target = checkpoint.id if step.journey is journey else step.target
            self.lands(checkpoint)
        else:
            self.misses(path_of(checkpoint))
        return follows

    def _took_back(self, journey: Journey) -> bool:
        """Whether one is where the run was because one has just undone it, not because one came back to it."""
        undone = [step for step in self.steps if step.journey is journey and step.undone]
        return bool(self.landed) and any(step.origin in (None, self.landed) for step in undone)

    def misses(self, place: Path) -> None:
        """A branch grew unseen: it is what one comes back to, unless one chose or stopped there on purpose."""
        if len(place) > 1 and self.after.get(place[:-1]) is None and self.here != place[:-1]:
            self.after[place[:-1]] = place[-1]

    def last_step(self) -> Step | None:
        return next((step for step in reversed(self.steps) if step.leads_somewhere), None)

    def has_undone(self, journey: Journey) -> bool:
        """Whether the move that this run belongs to was taken back."""
        return any(step.undone for step in self.steps if step.journey is journey)

    def undoes(self, tree: Tree) -> None:
        """The last move is taken back; on a thread that was empty the first checkpoint is left, which shows nothing."""
        last = self.last_step()
        origin = last.left.place if last.left else last.origin
        last.undone = True
        self.lands(tree.checkpoints[origin or next(iter(tree.checkpoints))])
        self.landed = self.head
