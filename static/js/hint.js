// After an arrow: a word when messages that stood below now live on the version that was left.
const counts = new WeakMap();

const below = (slot) => document.getElementById("transcript").dataset.places - slot;

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  const slot = ctx.sourceElement.closest("[data-versions]")?.closest("[data-slot]").dataset.slot;
  if (slot) counts.set(ctx, { slot, count: below(slot) });
});

document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
  const before = counts.get(ctx);
  if (before && ctx.response?.status < 400 && below(before.slot) < before.count) {
    document.dispatchEvent(new CustomEvent("notice", { detail: { name: "elsewhere" } }));
  }
});

// One press back: Undo takes the switch back, and it stays where it is.
document.addEventListener("click", (event) => {
  if (!event.target.closest?.("[data-action=back]")) return;
  const undo = document.querySelector("[data-action=undo]");
  undo?.focus();
  undo?.click();
});
