// Says on the page whether it hears from the server: live, reconnecting or offline.
const thread = document.querySelector("[data-thread-id]");
let connection = null;

const say = (state) => { thread.dataset.connection = state; };
const isOpen = () => connection?.socket?.readyState === WebSocket.OPEN;

for (const sign of document.querySelectorAll("[data-connection-sign]")) sign.hidden = false;

document.addEventListener("htmx:ws:before:connection", (event) => {
  connection = event.detail.connection;
  say(navigator.onLine ? "reconnecting" : "offline");
});
document.addEventListener("htmx:ws:after:connection", () => say("live"));
document.addEventListener("htmx:ws:close", ({ detail }) => {
  const again = detail.connection.config.reconnectCodes.includes(detail.code);
  say(again && navigator.onLine ? "reconnecting" : "offline");
  if (detail.code === 4401) document.dispatchEvent(new CustomEvent("notice", { detail: { name: "session" } }));
});
window.addEventListener("offline", () => say("offline"));
window.addEventListener("online", () => say(isOpen() ? "live" : "reconnecting"));
// A page out of the browser's cache has no socket any more.
window.addEventListener("pageshow", (event) => event.persisted && location.reload());
