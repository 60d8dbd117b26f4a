// Tells how much room a text has left once that is little, and keeps one that is too long from being sent.
const NEAR = 0.9;

function measure(field) {
  const most = Number(field.dataset.most);
  // Characters, as the server counts them; a text has no more of them than units, which are quickly counted.
  const count = field.value.length < most * NEAR ? 0 : [...field.value.trim()].length;
  const place = document.getElementById(field.dataset.roomIn);
  const over = count > most;
  const says = over ? place.dataset.over : place.dataset.left;
  place.hidden = count < most * NEAR;
  place.toggleAttribute("data-full", over);
  place.textContent = `${says} ${Math.abs(most - count).toLocaleString(document.documentElement.lang)}`;
  // The browser itself tells why it does not send, and leads there.
  field.setCustomValidity(over ? place.textContent : "");
  field.toggleAttribute("aria-invalid", over);
}

const fields = (place) => place.querySelectorAll("textarea[data-most]");

document.addEventListener("input", ({ target }) => {
  if (target.matches("textarea[data-most]")) measure(target);
});

// Text also comes without being typed: a draft, an edit box, a message that was let go of.
document.addEventListener("htmx:after:swap", () => fields(document).forEach(measure));
document.addEventListener("htmx:finally:request", () => fields(document).forEach(measure));
fields(document).forEach(measure);
