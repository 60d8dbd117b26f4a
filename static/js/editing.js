// The edit box: focus when it opens, Cancel and Escape, and closing it once the edit is accepted.
const accepted = (ctx) => ctx.response?.status < 400 && !ctx.hx?.redirect;

function open(article) {
  const text = article?.querySelector("[data-edit] textarea");
  text?.focus();
  text?.setSelectionRange(text.value.length, text.value.length);
}

// Without its mark the box is again part of what the next transcript replaces.
function close(form) {
  const box = form.closest("[id^='edit-']");
  const focused = box.contains(document.activeElement);
  box.removeAttribute("hx-morph-skip");
  box.replaceChildren();
  // The focus stays in the message, so that the next transcript finds it there.
  if (focused) box.closest("article").focus({ preventScroll: true });
}

function cancel(form) {
  const article = form.closest("article");
  close(form);
  article.querySelector("[data-action=edit]")?.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-action=cancel-edit]");
  if (!button) return;
  event.preventDefault();
  cancel(button.closest("[data-edit]"));
});

document.addEventListener("keydown", (event) => {
  const form = event.target.closest?.("[data-edit]");
  if (form && event.key === "Escape" && !event.isComposing) cancel(form);
});

document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
  if (ctx.sourceElement.matches("[data-edit]") && accepted(ctx)) close(ctx.sourceElement);
});

document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
  if (ctx.sourceElement.querySelector?.("[data-action=edit]")) open(ctx.sourceElement.closest("article"));
});

// An open box is left alone when a transcript comes, but for this: saving it is a command on the thread as it now stands.
document.addEventListener("htmx:after:swap", () => {
  for (const field of document.querySelectorAll("[data-edit] [name=head_version]")) {
    field.value = document.getElementById("transcript").dataset.headVersion;
  }
});
