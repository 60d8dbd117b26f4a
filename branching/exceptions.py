"""What can go wrong with a thread. The docstring of each class is the sentence that a person reads."""

from __future__ import annotations

from collections.abc import Mapping


class BranchingError(Exception):
    """Something about this conversation could not be done."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail or (type(self).__doc__ or "").strip())


class NotFound(BranchingError):
    """There is no such thing here."""


class NoSuchThread(NotFound):
    """There is no such conversation."""


class NoSuchMessage(NotFound):
    """There is no such message in this conversation."""


class NoSuchCheckpoint(NotFound):
    """There is no such checkpoint in this conversation."""


class NoSuchQuestion(NotFound):
    """There is no such question in this conversation."""


class NoSuchBooking(NotFound):
    """There is no such booking in this conversation."""


class NoSuchShare(NotFound):
    """There is no such link, or it was taken back."""


class NoSuchRun(NotFound):
    """There is no such reply in the making."""


class Conflict(BranchingError):
    """The conversation is not in a state that allows this. Nothing was changed."""


class HeadMoved(Conflict):
    """The conversation moved on elsewhere. Nothing was changed; here is how it stands now."""


class RunInProgress(Conflict):
    """A reply is still being written. Wait for it or stop it, then try again."""


class TooEarly(Conflict):
    """This builds on the step before it. Go back, and press the button there first."""


class NothingToUndo(Conflict):
    """There is nothing to undo."""


class NothingToRun(Conflict):
    """There is nothing to answer here: this version already has its reply."""


class AnswerFirst(Conflict):
    """The assistant waits for your answer here. Approve or reject what it asks first."""


class AlreadyAnswered(Conflict):
    """This was answered already. Nothing was changed; choose "decide again" to be asked anew."""


class AlreadyCancelled(Conflict):
    """This booking was cancelled already."""


class NotApproved(Conflict):
    """This was not approved here, so it was not done."""


class HistoryLost(Conflict):
    """The saved state of this conversation can't be found, so nothing can be added here. Nothing was changed."""


class ShownNow(Conflict):
    """This version is shown now, so it can't be deleted. Show another one first."""


class BeginsHere(Conflict):
    """The conversation begins with this, and there is no other version. Delete the conversation instead."""


class GoneForGood(Conflict):
    """This can't be brought back any more."""


class HasGoneOn(Conflict):
    """This version has gone on since the page was drawn. Nothing was deleted."""


class NotForkable(Conflict):
    """This assistant's state can't be changed by hand: LangGraph keeps whole turns of it, and nothing in between."""


class NotFinished(Conflict):
    """Something is unanswered in this conversation."""


class Invalid(BranchingError):
    """This can't be done as it was asked."""


class BadRequest(Invalid):
    """The page sent something that can't be understood. Reload it and try again."""


class EmptyMessage(Invalid):
    """The message is empty. Write something first."""


class EmptyTitle(Invalid):
    """The title is empty. Write something first."""


class LabelTooLong(Invalid):
    """This name is too long. At most 60 characters are possible."""


class MessageTooLong(Invalid):
    """The message is too long. At most 100,000 characters can be sent."""


class BadText(Invalid):
    """The message holds characters that can't be stored. Remove them and try again."""


class BadAnswer(Invalid):
    """This is no answer to what was asked. Nothing was changed."""


class NotEditable(Invalid):
    """Only your own messages can be edited."""


class NotReplayable(Invalid):
    """Only replies can be regenerated."""


class TooLong(Invalid):
    """This conversation is too long to begin another one with."""


class BadFile(Invalid):
    """The file can't be taken in: it says something that no conversation could be. Nothing was changed."""


class NoStart(Invalid):
    """No saved step ends just before this message, so nothing can start there. Fork from a checkpoint instead."""


class NothingSaid(Invalid):
    """Nothing was said yet at this checkpoint, so no conversation can begin with it."""


class BadFork(Invalid):
    """The state can't be changed like this. Nothing was changed."""

    def __init__(self, problems: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.problems = dict(problems or {})
        """What is wrong, by the names of the fields."""


class OneAtATime(Invalid):
    """This assistant does things in the world. It answers one version at a time."""


class BadScenario(Invalid):
    """This is no scenario."""


class NotRecordable(Conflict):
    """What was done in this conversation can't be told as a scenario."""


class MayActAgain(Conflict):
    """From here the assistant may act on the world again. Confirm that first."""


class UnknownModel(Invalid):
    """There is no such model here. Choose one of those that are listed."""


class InstructionsTooLong(Invalid):
    """These instructions are too long. At most 4,000 characters can be given."""


class UnknownAssistant(Invalid):
    """There is no such assistant."""


class GarbledReply(BranchingError):
    """The model's provider sent nothing, or something that can't be read."""


class OutOfScript(BranchingError):
    """The scenario says nothing that its model could answer here, or no scenarios are played on this server."""


class ModelUnavailable(BranchingError):
    """The configured model can't be used."""
