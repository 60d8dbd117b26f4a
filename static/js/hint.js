// After an arrow: a word when messages that stood below now live on the version that was left.
const counts = new WeakMap();

function below(slot) {
  const places = [...document.querySelectorAll("#transcript [data-slot]")];
  return places.length - 1 - places.findIndex((place) => place.dataset.slot === slot);
}

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
