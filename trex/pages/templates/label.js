"use strict";
// Keys press the buttons that name them, by two keys where the first names a group; without this script the buttons work alone.
let typed = ""; // the number of a group whose letter is still to come

function begin(prefix) {
  typed = prefix;
  for (const group of document.querySelectorAll("[data-prefix]"))
    group.classList.toggle("typed", typed !== "" && group.dataset.prefix === typed);
}

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target instanceof HTMLInputElement) return;
  const isBack = event.key === "Backspace";
  const key = isBack ? "u" : event.key.toLowerCase();
  if (typed !== "" && (isBack || key === "escape")) {
    event.preventDefault();
    begin("");
    return;
  }
  const buttons = [...document.querySelectorAll("button[data-key]")].filter((one) => !one.disabled && !one.closest("[hidden]"));
  const named = (keys) => buttons.find((one) => one.dataset.key === keys);
  const button = named(typed + key) ?? named(key);
  begin(!button && buttons.some((one) => one.dataset.key.startsWith(key)) ? key : "");
  if (button || typed !== "") event.preventDefault();
  if (button) button.click();
});

// A second click while the first vote is on its way is no second vote.
let isSent = false;
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (isSent) event.preventDefault();
  isSent = true;
});
window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
