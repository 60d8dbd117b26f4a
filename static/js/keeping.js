// What was typed into an edit box is kept in a notice when its message leaves the page, or when saving it failed.
const saving = new WeakSet();
const boxId = (form) => form.closest("[id^='edit-']").id;

function keep(form) {
  const { value, defaultValue } = form.elements.content;
  if (value === defaultValue || document.querySelector("#notice [data-kept]")?.textContent === value) return;
  document.dispatchEvent(new CustomEvent("notice", { detail: { name: "kept", kept: value } }));
}

document.addEventListener("htmx:before:swap", ({ detail: { tasks } }) => {
  const news = tasks.find((task) => task.fragment.querySelector("#transcript"))?.fragment;
  if (!news) return;
  for (const form of document.querySelectorAll("#transcript [data-edit]")) {
    if (form.closest("[hx-morph-skip][data-earlier]")) continue; // it stays: see window.js
    if (!saving.has(form) && !news.querySelector(`#${CSS.escape(boxId(form))}`)) keep(form);
  }
});

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (ctx.sourceElement.matches("[data-edit]")) saving.add(ctx.sourceElement);
});

document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => {
  const form = ctx.sourceElement;
  if (!saving.delete(form)) return;
  const refused = !(ctx.response?.status < 400) || ctx.hx?.redirect;
  if (!refused || form.isConnected || document.getElementById(boxId(form))?.querySelector("[data-edit]")) return;
  keep(form);
});
