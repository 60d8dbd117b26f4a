// The sheet of keyboard shortcuts: by its button, or by ? where one does not write.
const sheet = document.querySelector("[data-shortcuts]");
const open = () => { if (!sheet.open) sheet.showModal(); };

for (const button of document.querySelectorAll("[data-action=shortcuts]")) button.hidden = false;

document.addEventListener("click", (event) => {
  if (event.target.closest?.("[data-action=shortcuts]")) open();
  if (event.target === sheet) sheet.close(); // beside it
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("textarea, input, select")) return;
  event.preventDefault();
  open();
});
