// One voice for screen readers: what the reply does and which version is shown, never each word of it.
const announcer = document.querySelector("[data-announcer]");
const thread = document.querySelector("[data-thread-id]");
let state = thread.dataset.runState;

const WORDS = { running: "writing", idle: "written", failed: "failed", waiting: "waiting" };
const say = (text) => { if (text) announcer.textContent = text; };

document.addEventListener("announce", (event) => say(announcer.dataset[event.detail]));

document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
  const now = document.getElementById("transcript")?.dataset.runState;
  if (!now) return;
  if (now !== state) say(announcer.dataset[WORDS[now]]);
  state = now;
  if (ctx.sourceElement.matches("[data-versions] form")) say(ctx.sourceElement.parentElement.getAttribute("aria-label"));
});
