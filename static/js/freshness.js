// Keeps the page from going back: an answer and the socket can overtake each other.
const TOGETHER = ["transcript", "elsewhere", "composer-state", "thread-title"];

document.addEventListener("htmx:before:swap", ({ detail: { tasks } }) => {
  dropOldTranscript(tasks);
  for (const task of tasks) {
    keepLongerReply(task);
    makeRoomForBlocks(task);
  }
});

function dropOldTranscript(tasks) {
  const shown = document.getElementById("transcript");
  const news = tasks.map((task) => task.fragment.querySelector("#transcript")).find(Boolean);
  if (!shown || !news || Number(news.dataset.revision) >= Number(shown.dataset.revision)) return;
  const fresh = tasks.filter((task) => !TOGETHER.some((id) => task.fragment.querySelector(`#${id}`)));
  tasks.splice(0, tasks.length, ...fresh);
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
