// Enter sends in the composer and saves in the edit box. Shift+Enter is a new line; on a touch screen so is Enter.
const touch = matchMedia("(pointer: coarse)");

document.addEventListener("keydown", (event) => {
  const form = event.target.closest?.("[data-composer], [data-edit]");
  if (event.key !== "Enter" || !form || event.target.name !== "content") return;
  // While an input method composes, Enter chooses the word; Safari tells it by the old key code alone.
  if (event.isComposing || event.keyCode === 229) return;
  const surely = event.ctrlKey || event.metaKey;
  if (!surely && (event.shiftKey || event.altKey || touch.matches)) return;
  event.preventDefault();
  const button = form.querySelector("[data-action=send], [data-action=save-edit]");
  const empty = form.matches("[data-composer]") && !event.target.value.trim();
  if (button && !empty && !event.repeat) form.requestSubmit(button);
});
