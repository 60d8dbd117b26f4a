// Copies the exact source of a message, not what its Markdown looks like.
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-action=copy], [data-action=copy-code]");
  if (!button) return;
  const source = button.dataset.source ?? place(button).textContent;
  if (await copied(source)) confirm(button);
});

function place(button) {
  if (button.dataset.action === "copy-code") return button.parentElement.querySelector("code");
  return button.closest("article").querySelector("[data-content]");
}

async function copied(source) {
  try {
    await navigator.clipboard.writeText(source);
    return true;
  } catch {
    return copiedTheOldWay(source);
  }
}

// Without https there is no clipboard to write to.
function copiedTheOldWay(source) {
  const field = document.createElement("textarea");
  field.value = source;
  field.className = "visually-hidden";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}

function confirm(button) {
  const drawing = button.querySelector("use");
  drawing.setAttribute("href", "#icon-done");
  button.focus({ preventScroll: true });
  document.dispatchEvent(new CustomEvent("announce", { detail: "copied" }));
  setTimeout(() => drawing.setAttribute("href", "#icon-copy"), 1600);
}
