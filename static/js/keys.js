// Alt+Left and Alt+Right change the version of the message that has the focus.
const ACTIONS = { ArrowLeft: "previous-version", ArrowRight: "next-version" };

document.addEventListener("keydown", (event) => {
  const action = ACTIONS[event.key];
  if (!action || !event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.matches("textarea, input, select")) return;
  const button = event.target.closest("[data-slot]")?.querySelector(`[data-action="${action}"]`);
  if (!button) return;
  event.preventDefault();
  if (!event.repeat) button.click();
});
