"use strict";
(() => {
  const gallery = document.querySelector(".gallery");
  const dialog = document.getElementById("enlarged");
  const controls = document.getElementById("controls");
  if (!gallery || !dialog || !controls) return;
  const cards = [...gallery.children];
  const kind = document.getElementById("kind");
  const words = document.getElementById("words");
  const order = document.getElementById("order");
  const count = document.getElementById("count");

  const hasObject = (card, wanted) =>
    card.dataset.objects.split("|").some((object) => wanted.every((word) => object.includes(word)));

  const arrange = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const card of cards) {
      const fits = (kind.value === "all" || card.dataset.kinds.split(" ").includes(kind.value))
        && (wanted.length === 0 || hasObject(card, wanted));
      card.hidden = !fits;
      shown += Number(fits);
    }
    const key = (card) => Number(card.dataset[order.value]);
    cards.sort((a, b) => key(a) - key(b) || Number(a.dataset.number) - Number(b.dataset.number));
    gallery.append(...cards);
    count.textContent = `${shown} of ${cards.length} ${count.dataset.many} shown`;
  };

  const image = dialog.querySelector("img");
  const caption = dialog.querySelector("p");
  let current = null;

  const enlarge = (button) => {
    current = button;
    const small = button.querySelector("img");
    image.src = small.src;
    image.alt = small.alt;
    image.className = small.className;
    caption.textContent = button.dataset.caption;
    if (!dialog.open) dialog.showModal();
  };

  const step = (by) => {
    const buttons = [...document.querySelectorAll("button.zoom")].filter((button) => button.offsetParent !== null);
    const next = buttons[buttons.indexOf(current) + by];
    if (next) enlarge(next);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.zoom");
    if (button) enlarge(button);
    else if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight") step(1);
    if (event.key === "ArrowLeft") step(-1);
  });
  dialog.addEventListener("close", () => current?.focus());
  dialog.querySelector("button").addEventListener("click", () => dialog.close());
  for (const control of [kind, order]) control.addEventListener("change", arrange);
  words.addEventListener("input", arrange);
  controls.hidden = false;
  arrange();
})();
