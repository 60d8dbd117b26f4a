// What was typed into an edit box is kept in a notice when its message leaves the page, or when saving it failed; so is
// what was typed into a question that somebody else has answered.
const saving = new Set();
const boxId = (form) => form.closest("[id^='edit-']").id;

function tell(name, kept) {
  if (document.querySelector("#notice [data-kept]")?.textContent === kept) return;
  document.dispatchEvent(new CustomEvent("notice", { detail: { name, kept } }));
}

function isChanged(field) {
  if (!field.matches("select")) return field.value !== field.defaultValue;
  const first = [...field.options].find((option) => option.defaultSelected) ?? field.options[0];
  return !first?.selected;
}

// The reason for a no, and the changes to a yes under their names.
function typed(place) {
  const fields = [...place.querySelectorAll("input, select, textarea")].filter(isChanged);
  const shown = (field) => field.selectedOptions?.[0].label ?? field.value;
  const line = (field) => (field.name === "reason" ? field.value : `${field.labels[0]?.textContent}: ${shown(field)}`);
  return fields.map(line).join("\n");
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
  for (const card of document.querySelectorAll("[data-question]")) {
    const { question } = card.dataset;
    // Who has just answered it has no more use for what they typed.
    const isAnswered = [...saving].some((form) => new FormData(form).getAll("question").includes(question));
    const isGone = !news.querySelector(`[data-question="${CSS.escape(question)}"]`);
    if (isGone && !isAnswered && typed(card)) tell("reason", typed(card));
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
  if (form.matches("[data-answer]")) {
    if (typed(form)) tell("reason", typed(form));
  } else if (!document.getElementById(boxId(form))?.querySelector("[data-edit]")) keep(form);
});
