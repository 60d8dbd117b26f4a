// ↑ in an empty composer edits one's last message.
document.addEventListener("keydown", (event) => {
  if (event.key !== "ArrowUp" || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  if (event.isComposing || !event.target.matches?.("[data-composer] textarea") || event.target.value) return;
  const last = [...document.querySelectorAll("#transcript [data-role=human]")].at(-1);
  const open = last?.querySelector("[data-edit] textarea");
  const button = last?.querySelector("[data-action=edit]");
  if (!open && !button) return;
  event.preventDefault();
  if (open) open.focus();
  else if (!event.repeat) button.click();
});
