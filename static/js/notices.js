// Notices of the page's own, for when the server could not send one. Text that someone wrote stays until dismissed.
const place = document.querySelector("[data-notices]");

function show({ name, kept }) {
  const notice = document.querySelector(`template[data-notice="${name}"]`).content.cloneNode(true);
  if (kept) {
    notice.querySelector("[data-kept]").textContent = kept;
    notice.querySelector("[data-action=copy]").dataset.source = kept;
  }
  place.append(notice);
}

function clear() {
  for (const notice of document.querySelectorAll("[data-notices] > *, #notice > *")) {
    if (!notice.querySelector("[data-kept]")) notice.remove();
  }
}

document.addEventListener("notice", (event) => show(event.detail));

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-action=dismiss]");
  button?.closest("[role=alert], [role=status]").remove();
});

document.addEventListener("htmx:before:request", clear);

document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
  if (ctx && !ctx.response) show({ name: "network" });
});

document.addEventListener("htmx:response:error", ({ detail: { ctx } }) => {
  if (!ctx.text.includes("<hx-partial")) show({ name: "server" });
});
