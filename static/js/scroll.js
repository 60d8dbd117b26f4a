// Follows the end of the thread only for who is there; what one has pressed keeps its place on screen.
const page = document.scrollingElement;
const holder = document.getElementById("transcript").parentElement;
let anchor = null;
let follow = false;
let ended = true;
let room = 0;
let frame = 0;

const atEnd = () => page.scrollHeight - page.scrollTop - innerHeight < 64;
const isMore = (ctx) => ctx.sourceElement.matches("[data-more]");
const placeOf = (slot) => document.querySelector(`[data-slot="${CSS.escape(slot)}"]`);

function end() {
  page.scrollTop = page.scrollHeight;
  ended = true;
}

// Who is at the end stays there, whatever grows; but not where the end is only room that holds a message in place.
function stay() {
  if (ended && !room) end();
}

// With the next frame, which lays the page out once for all that has come until then.
function staySoon() {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    stay();
  });
}

// Room below the last message, so that the message whose arrow was pressed can keep its place.
function hold(pixels) {
  room = Math.max(0, Math.ceil(pixels));
  holder.style.marginBlockEnd = `${room}px`;
}

// As much room below the last message as it takes to scroll down to here. A page that is shorter than the window
// has room already: so it is measured with more than enough.
function holdFor(scrollTop) {
  hold(innerHeight);
  hold(scrollTop + innerHeight - (page.scrollHeight - innerHeight));
}

function restore({ slot, top }) {
  const place = placeOf(slot);
  if (!place) return;
  const target = page.scrollTop + place.getBoundingClientRect().top - top;
  holdFor(target);
  page.scrollTop = target;
}

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (isMore(ctx)) return;
  const place = ctx.sourceElement.closest("[data-slot]");
  anchor = place && { slot: place.dataset.slot, top: place.getBoundingClientRect().top };
  follow = ctx.sourceElement.matches("[data-composer], [data-edit], [data-after-edit], form:has([data-action=regenerate], [data-action=retry])");
  if (follow) hold(0);
});

document.addEventListener("htmx:before:swap", () => {
  if (!frame) ended = atEnd();
});

document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
  if (follow && !(ctx.response?.status >= 400)) end();
  else if (isMore(ctx)) return; // window.js looks after that
  else if (anchor) restore(anchor);
  else staySoon();
});

document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => {
  if (isMore(ctx)) return;
  anchor = null;
  follow = false;
});

document.addEventListener("scroll", () => {
  ended = atEnd();
  if (room) holdFor(page.scrollTop);
}, { passive: true });

new ResizeObserver(stay).observe(document.querySelector("[data-foot]"));
window.addEventListener("resize", stay);

const arrival = performance.getEntriesByType("navigation")[0]?.type;
const landed = document.querySelector("[data-landed]");
if (landed) {
  landed.scrollIntoView({ block: "center" });
  landed.focus({ preventScroll: true });
  ended = atEnd();
} else if (!location.hash && arrival === "navigate") end();
