// What was typed into an edit box is kept in a notice when its message leaves the page, or when saving it failed; so is
// the reason that was typed into a question which somebody else has answered.
const saving = new Set();
const boxId = (form) => form.closest("[id^='edit-']").id;

function tell(name, kept) {
  if (document.querySelector("#notice [data-kept]")?.textContent === kept) return;
  document.dispatchEvent(new CustomEvent("notice", { detail: { name, kept } }));
}

function keep(form) {
  const { value, defaultValue } = form.elements.content;
  if (value !== defaultValue) tell("kept", value);
}

document.addEventListener("htmx:before:swap", ({ detail: { tasks } }) => {
  const news = tasks.find((task) => task.fragment.querySelector("#transcript"))?.fragment;
  if (!news) return;
  for (const form of document.querySelectorAll("#transcript [data-edit]")) {
    if (form.closest("[hx-morph-skip][data-earlier]")) continue; // it stays: see window.js
    if (!saving.has(form) && !news.querySelector(`#${CSS.escape(boxId(form))}`)) keep(form);
  }
  // Who has just answered, whatever it was, has no more use for a reason.
  if ([...saving].some((form) => form.matches("[data-answer]"))) return;
  for (const field of document.querySelectorAll("[data-question] [name=reason]")) {
    if (field.value && !news.querySelector(`#${CSS.escape(field.id)}`)) tell("reason", field.value);
  }
});

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (ctx.sourceElement.matches("[data-edit], [data-answer]")) saving.add(ctx.sourceElement);
});

document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => {
  const form = ctx.sourceElement;
  if (!saving.delete(form)) return;
  const refused = !(ctx.response?.status < 400) || ctx.hx?.redirect;
  if (!refused || form.isConnected) return;
  const { reason, content } = form.elements;
  if (reason?.value) tell("reason", reason.value);
  else if (content && !document.getElementById(boxId(form))?.querySelector("[data-edit]")) keep(form);
});
