// The part of a long conversation that is on the page: it grows as one scrolls, and nothing moves under the reader.
const page = document.scrollingElement;
const loaded = (earlier) => Boolean(earlier?.querySelector("article"));
let view = null;

// A transcript comes without what one has scrolled up to, and that stays.
document.addEventListener("htmx:before:swap", ({ detail: { tasks } }) => {
  const news = tasks.find((task) => task.fragment.querySelector("#transcript"))?.fragment;
  const coming = news?.querySelector("#transcript > [data-earlier]");
  if (!coming) return;
  const edge = document.querySelector(`#transcript > [data-pk="${coming.dataset.earlier}"]`);
  const here = document.getElementById(coming.id);
  if (loaded(coming)) here?.removeAttribute("hx-morph-skip");
  else if (edge) carry(edge, coming);
  else if (loaded(here)) here.setAttribute("hx-morph-skip", "");
});

// The window has moved on, and what it has left is on the page still.
function carry(edge, coming) {
  const left = [];
  for (let element = edge; element?.matches("[data-pk], [data-earlier]"); element = element.previousElementSibling) {
    left.unshift(element);
  }
  coming.replaceChildren(...left.map((element) => element.cloneNode(true)));
  if (left[0].matches("[data-earlier]")) left[0].setAttribute("hx-morph-skip", "");
}

// The first message that can be seen is the one that must not move.
function seen() {
  const element = [...document.querySelectorAll("[data-slot]")].find((place) => place.getBoundingClientRect().bottom > 80);
  return element && { element, top: element.getBoundingClientRect().top };
}

document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => {
  const more = ctx.sourceElement.matches?.("[data-more]") && ctx.sourceElement;
  view = more && { ...seen(), focused: more === document.activeElement, earlier: more.dataset.action === "earlier" };
});

document.addEventListener("htmx:after:swap", () => {
  const now = document.getElementById("transcript")?.dataset.headVersion;
  // What was fetched is part of the page: a command on it is a command on the conversation as the page shows it.
  for (const field of document.querySelectorAll("[data-earlier] [name=head_version]")) field.value = now;
  if (!view?.element) return;
  const { element, top, focused, earlier } = view;
  view = null;
  page.scrollTop += element.getBoundingClientRect().top - top;
  if (!focused) return;
  // Where the link was there is now a message: the one to read next.
  const places = [...document.querySelectorAll("[data-slot]")];
  const next = earlier ? places[places.indexOf(element) - 1] : places[places.indexOf(element) + 1];
  next?.focus({ preventScroll: true });
});
