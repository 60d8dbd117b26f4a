// Keeps the page from going back: an answer and the socket can overtake each other.
const TOGETHER = ["transcript", "elsewhere", "composer-state", "thread-title"];

// The place in the conversation on which a command was given, until that is answered.
let waiting = null;

document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  const place = ctx.sourceElement.closest("[data-slot]");
  if (place) waiting = { ctx, slot: place.dataset.slot };
});

document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => {
  if (waiting?.ctx === ctx) waiting = null;
});

document.addEventListener("htmx:before:swap", ({ detail: { ctx, tasks } }) => {
  dropTranscript(tasks, ctx);
  for (const task of tasks) {
    keepLongerReply(task);
    makeRoomForBlocks(task);
  }
});

function dropTranscript(tasks, ctx) {
  const shown = document.getElementById("transcript");
  const news = tasks.map((task) => task.fragment.querySelector("#transcript")).find(Boolean);
  if (!shown || !news) return;
  const isOld = Number(news.dataset.revision) < Number(shown.dataset.revision);
  if (!isOld && !leavesBehind(news, ctx)) return;
  const fresh = tasks.filter((task) => !TOGETHER.some((id) => task.fragment.querySelector(`#${id}`)));
  tasks.splice(0, tasks.length, ...fresh);
}

// Far up in a long conversation the socket's news come without the place on which one has just given a command; the
// command's own answer has it, and comes presently.
function leavesBehind(news, ctx) {
  const isTold = news.dataset.places >= Number(waiting?.slot) && !news.querySelector(`[data-slot="${waiting.slot}"]`);
  return isTold && waiting.ctx !== ctx;
}

// A live reply only grows: where the page has more of it than the transcript that comes, the page's stays.
function keepLongerReply({ fragment }) {
  for (const coming of fragment.querySelectorAll("[data-live]")) {
    const here = document.getElementById(coming.id);
    if (here?.textContent.length > coming.textContent.length) coming.replaceChildren(...here.cloneNode(true).childNodes);
  }
}

// A frame of a live reply holds all its blocks from the target on.
function makeRoomForBlocks({ target }) {
  if (!target?.matches?.("[data-block]")) return;
  while (target.nextElementSibling) target.nextElementSibling.remove();
}
