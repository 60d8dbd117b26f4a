// Arrow keys walk the map: up and down by line, left to where it grew from, right to what grew from it.
const STEPS = {
  ArrowUp: (spot) => spot.previousElementSibling,
  ArrowDown: (spot) => spot.nextElementSibling,
  ArrowLeft: (spot) => document.getElementById(`spot-${spot.dataset.parent}`),
  ArrowRight: (spot) => document.getElementById(`spot-${spot.dataset.child}`),
};

document.addEventListener("keydown", (event) => {
  const step = STEPS[event.key];
  const spot = event.target.closest?.("[data-spot]");
  if (!step || !spot || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  step(spot)?.querySelector(".spot__go").focus();
});

document.querySelector(":target .spot__go, [data-hit] .spot__go, [data-head] .spot__go")?.focus();
