// Says on the page whether it hears from the server: live, reconnecting or offline. Mistrusts a socket that has slept.
const LOOK = 5_000;
const SLEEP = 30_000;
const thread = document.querySelector("[data-thread-id]");
let connection = null;

const say = (state) => { thread.dataset.connection = state; };

// After a sleep or a change of network a socket can be dead and not know it. A new one brings everything, and soon.
function renew() {
  if (!connection?.socket) return;
  clearTimeout(connection.timer);
  connection.attempt = 0;
  connection.socket.dispatchEvent(new CloseEvent("close", { code: 1006 }));
}

let awake = Date.now();
function wake() {
  if (document.hidden) return;
  if (Date.now() - awake > SLEEP) renew();
  awake = Date.now();
}
setInterval(wake, LOOK);
document.addEventListener("visibilitychange", wake);

for (const sign of document.querySelectorAll("[data-connection-sign]")) sign.hidden = false;

document.addEventListener("htmx:ws:before:connection", (event) => {
  connection = event.detail.connection;
  say(navigator.onLine ? "reconnecting" : "offline");
});
document.addEventListener("htmx:ws:after:connection", () => say("live"));
document.addEventListener("htmx:ws:close", ({ detail }) => {
  const again = detail.connection.config.reconnectCodes.includes(detail.code);
  say(again && navigator.onLine ? "reconnecting" : "offline");
  if (!again) connection = null;
  if (detail.code === 4401) document.dispatchEvent(new CustomEvent("notice", { detail: { name: "session" } }));
});
window.addEventListener("offline", () => say("offline"));
window.addEventListener("online", renew);
// A page out of the browser's cache has no socket any more.
window.addEventListener("pageshow", (event) => event.persisted && location.reload());
