"use strict";
// Keys press the buttons that name them; without this script the buttons work alone.
document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target instanceof HTMLInputElement) return;
  const key = event.key === "Backspace" ? "u" : event.key.toLowerCase();
  const button = [...document.querySelectorAll("button[data-key]")].find((one) => one.dataset.key === key);
  if (!button || button.disabled || button.closest("[hidden]")) return;
  event.preventDefault();
  button.click();
});

// A second click while the first vote is on its way is no second vote.
let isSent = false;
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (isSent) event.preventDefault();
  isSent = true;
});
window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
