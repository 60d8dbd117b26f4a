// A reply that is finished stays in the place in which it was written: laying out a long one anew would take a while.
document.addEventListener("htmx:before:swap", ({ detail: { tasks } }) => {
  for (const { fragment } of tasks) {
    for (const live of document.querySelectorAll("#transcript [data-open-reply] > [data-live]")) finish(live, fragment);
  }
});

// What comes finds its place by its id, and what has none by what it is: see morphing in htmx.
function finish(live, fragment) {
  const here = live.parentElement;
  const coming = fragment.querySelector(`[data-slot="${CSS.escape(here.dataset.slot)}"]`);
  if (!coming || fragment.querySelector(`#${CSS.escape(here.id)}`) || document.getElementById(coming.id)) return;
  here.id = coming.id;
  live.removeAttribute("id");
  const text = coming.querySelector("[data-content]");
  if (!text || !isSame(live, text)) return;
  for (const each of [live, text]) each.setAttribute("hx-morph-skip-children", "");
}

function isSame(one, other) {
  const [here, coming] = [one, other].map((each) => [...each.children]);
  return here.length === coming.length && here.every((block, at) => block.isEqualNode(coming[at]));
}
