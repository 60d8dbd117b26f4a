// The focus stays where it was, on the same control of the same place, when a swap puts another version there.
let before = null;

const has = (element) => element?.isConnected && !element.disabled && element === document.activeElement;
const takes = (element) => element && !element.disabled;

document.addEventListener("htmx:before:swap", () => {
  const element = document.activeElement;
  const place = element?.closest("[data-slot]");
  const composer = element?.closest("[data-composer]");
  before = place || composer ? { element, composer, slot: place?.dataset.slot, action: element.dataset.action } : null;
});

document.addEventListener("htmx:after:swap", () => {
  if (!before || has(before.element)) return;
  if (document.activeElement !== document.body && document.activeElement !== before.element) return;
  heir(before)?.focus({ preventScroll: true });
});

function heir({ composer, slot, action }) {
  // On a phone the text field would bring up the keyboard.
  if (composer) return matchMedia("(pointer: coarse)").matches ? null : composer.elements.content;
  const place = document.querySelector(`[data-slot="${CSS.escape(slot)}"]`);
  const same = action && place?.querySelector(`[data-action="${CSS.escape(action)}"]`);
  if (takes(same)) return same;
  const arrows = place?.querySelectorAll("[data-versions] button") ?? [];
  return (action?.endsWith("-version") && [...arrows].find(takes)) || place;
}
