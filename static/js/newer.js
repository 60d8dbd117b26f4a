// Says that there is new text below what one reads, and leads there.
const button = document.querySelector("[data-action=to-end]");
const foot = document.querySelector("[data-foot]");
const last = () => [...document.querySelectorAll("#transcript [data-slot]")].at(-1);
const isBelow = () => last()?.getBoundingClientRect().bottom > foot.getBoundingClientRect().top + 16;

// How many messages there are, and how much there is of the one that is being written.
const amount = () => ({
  places: Number(document.getElementById("transcript")?.dataset.places),
  length: document.querySelector("[data-live]")?.textContent.length ?? 0,
});
let before = amount();
let commands = 0;

// What one has done oneself on a message is no news.
const isOwn = (ctx) => Boolean(ctx.sourceElement.closest("[data-slot]"));
document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => { commands += isOwn(ctx); });
document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => { commands -= isOwn(ctx); });

document.addEventListener("htmx:after:swap", () => {
  const now = amount();
  const isMore = now.places > before.places || now.length > before.length;
  before = now;
  if (!isMore || commands) return;
  // When scroll.js has followed the end, if one is there.
  requestAnimationFrame(() => {
    if (isBelow()) button.hidden = false;
  });
});

document.addEventListener("scroll", () => {
  if (!button.hidden && !isBelow()) button.hidden = true;
}, { passive: true });

button.addEventListener("click", () => {
  document.scrollingElement.scrollTop = document.scrollingElement.scrollHeight;
  last()?.focus({ preventScroll: true });
  button.hidden = true;
});
