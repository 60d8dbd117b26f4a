// The thread's element is never swapped, it holds the socket: what it says of the transcript is copied onto it.
document.addEventListener("htmx:after:swap", () => {
  const thread = document.querySelector("[data-thread-id]");
  const transcript = document.getElementById("transcript");
  if (!thread || !transcript) return;
  thread.dataset.runState = transcript.dataset.runState;
  thread.dataset.head = transcript.dataset.head;
  document.title = `${document.getElementById("thread-title").textContent} · Switchback`;
});
