// What every page needs: a form is sent once, however often its button is clicked.

export function lock(form, locked) {
  form.dataset.busy = locked ? "yes" : "";
  form.setAttribute("aria-busy", String(locked));
  for (const button of form.querySelectorAll("button")) button.disabled = locked;
}

// At the end of the event, so that whoever handles the form itself has said so by then.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || !form.matches("[data-once]")) return;
  if (form.dataset.busy) {
    event.preventDefault();
    return;
  }
  form.dataset.busy = "yes";
  // Later, because a button that is disabled now would not be sent.
  setTimeout(() => lock(form, true));
});

// A page that the browser kept as it was left: its forms can be sent again.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) for (const form of document.querySelectorAll("[data-once]")) lock(form, false);
});

// On a small screen the list of conversations begins closed.
if (window.matchMedia("(max-width: 52rem)").matches) document.querySelector("details.side")?.removeAttribute("open");
