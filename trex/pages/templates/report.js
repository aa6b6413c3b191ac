"use strict";
(() => {
  const gallery = document.getElementById("gallery");
  const controls = document.getElementById("controls");
  if (!gallery || !controls) return;
  const cards = [...gallery.children];
  const kind = document.getElementById("kind");
  const family = document.getElementById("family");
  const words = document.getElementById("words");
  const order = document.getElementById("order");
  const count = document.getElementById("count");
  const pages = document.getElementById("pages");
  const place = document.getElementById("place");
  const perPage = Number(gallery.dataset.perPage);
  let page = 0;
  let isWhole = false;

  for (const dot of document.querySelectorAll(".plane [data-scene]")) {
    const shown = dot.closest("figure").querySelector(".plane-picture");
    const picture = document.querySelector(`#scene-${dot.dataset.scene} img`);
    const show = () => {
      shown.hidden = !picture;
      if (picture) { shown.src = picture.src; shown.alt = picture.alt; }
    };
    dot.addEventListener("pointerenter", show);
    dot.addEventListener("focus", show);
  }

  const hasObject = (card, wanted) =>
    card.dataset.objects.split("|").some((object) => wanted.every((word) => object.includes(word)));

  const show = (fitting) => {
    const last = Math.max(0, Math.ceil(fitting.length / perPage) - 1);
    page = Math.min(page, last);
    const from = isWhole ? 0 : page * perPage;
    const shown = new Set(isWhole ? fitting : fitting.slice(from, from + perPage));
    for (const card of cards) card.hidden = !shown.has(card);
    count.textContent = `${shown.size} of ${cards.length} ${count.dataset.many} shown`;
    pages.hidden = last === 0;
    place.textContent = `${from + 1} to ${from + shown.size} of ${fitting.length}`;
    document.getElementById("earlier").disabled = isWhole || page === 0;
    document.getElementById("later").disabled = isWhole || page === last;
    document.getElementById("every").textContent = isWhole ? `Show ${perPage} at once` : "Show all";
  };

  const arrange = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const key = (card) => Number(card.dataset[order.value]);
    cards.sort((a, b) => key(a) - key(b) || Number(a.dataset.number) - Number(b.dataset.number));
    gallery.append(...cards);
    show(cards.filter((card) =>
      (kind.value === "all" || card.dataset.kinds.split(" ").includes(kind.value))
      && (!family || family.value === "all" || card.dataset.family === family.value)
      && (wanted.length === 0 || hasObject(card, wanted))));
  };

  const turn = (by) => {
    page = by ? page + by : 0;
    arrange();
    if (by) document.getElementById("scenes").scrollIntoView();
  };

  for (const button of gallery.querySelectorAll("button.members")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      family.value = button.dataset.family;
      turn(0);
      family.focus();
      document.getElementById("scenes").scrollIntoView();
    });
  }
  for (const control of [kind, family, order].filter(Boolean)) control.addEventListener("change", () => turn(0));
  words.addEventListener("input", () => turn(0));
  document.getElementById("earlier").addEventListener("click", () => turn(-1));
  document.getElementById("later").addEventListener("click", () => turn(1));
  document.getElementById("every").addEventListener("click", () => { isWhole = !isWhole; turn(0); });
  controls.hidden = false;
  arrange();
})();

(() => {
  const SWIPE_PX = 40;
  const dialog = document.getElementById("enlarged");
  const image = dialog.querySelector("img");
  const back = dialog.querySelector(".back");
  const on = dialog.querySelector(".on");
  const close = dialog.querySelector(".close");
  let current = null;
  let touch = null;

  const reachable = () =>
    [...document.querySelectorAll("button.zoom")].filter((button) => button.offsetParent !== null);

  const enlarge = (button) => {
    current = button;
    const small = button.querySelector("img");
    const other = document.getElementById(button.dataset.largeId);
    const large = button.dataset.large ?? other?.src;
    image.src = large ?? small.src;
    image.alt = small.alt;
    image.className = large ? "" : small.className;
    dialog.querySelector(".caption").textContent = button.dataset.caption;
    dialog.querySelector(".note").textContent = button.dataset.note ?? "";
    const buttons = reachable();
    const at = buttons.indexOf(button);
    dialog.querySelector(".place").textContent = `${at + 1} of ${buttons.length}`;
    back.setAttribute("aria-disabled", String(at === 0));
    on.setAttribute("aria-disabled", String(at === buttons.length - 1));
    if (dialog.open) return;
    dialog.showModal();
    close.focus();
  };

  const step = (by) => {
    const buttons = reachable();
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
  dialog.addEventListener("touchstart", (event) => {
    touch = event.touches.length === 1 ? event.touches[0] : null;
  }, { passive: true });
  dialog.addEventListener("touchend", (event) => {
    const end = event.changedTouches[0];
    const x = touch ? end.clientX - touch.clientX : 0;
    if (Math.abs(x) > SWIPE_PX && Math.abs(x) > Math.abs(end.clientY - touch.clientY)) step(x < 0 ? 1 : -1);
    touch = null;
  });
  back.addEventListener("click", () => step(-1));
  on.addEventListener("click", () => step(1));
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => current?.focus());
})();
