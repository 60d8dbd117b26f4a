// The composer keeps a draft for each thread in this tab, lets go of what was sent, and grows with its text.
const form = document.querySelector("[data-composer]");
const text = form.elements.content;
const key = `draft:${document.querySelector("[data-thread-id]").dataset.threadId}`;
const grows = CSS.supports("field-sizing", "content");

function changed() {
  try {
    if (text.value) sessionStorage.setItem(key, text.value);
    else sessionStorage.removeItem(key);
  } catch {
    // Storage is full or forbidden: the draft lives as long as the page.
  }
  if (grows) return;
  text.style.blockSize = "auto";
  text.style.blockSize = `${text.scrollHeight}px`;
}

function draft() {
  try {
    return sessionStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

form.addEventListener("input", changed);

document.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
  if (ctx.sourceElement !== form || ctx.response.status >= 400 || ctx.hx.redirect) return;
  const sent = ctx.request.body.get("content");
  // What was typed while the request was under way stays.
  if (text.value.startsWith(sent)) text.value = text.value.slice(sent.length);
  changed();
});

if (!text.value) text.value = draft();
changed();
