// Drops a transcript that is older than the one on the page: an answer and the socket can overtake each other.
const TOGETHER = ["transcript", "composer-state", "thread-title"];

document.addEventListener("htmx:before:swap", (event) => {
  const { tasks } = event.detail;
  const shown = document.getElementById("transcript");
  const news = tasks.map((task) => task.fragment.querySelector("#transcript")).find(Boolean);
  if (!shown || !news || Number(news.dataset.revision) >= Number(shown.dataset.revision)) return;
  const fresh = tasks.filter((task) => !TOGETHER.some((id) => task.fragment.querySelector(`#${id}`)));
  tasks.splice(0, tasks.length, ...fresh);
});
