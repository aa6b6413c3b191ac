// One file without network: answers are kept in this browser and downloaded as CSV.
const material = JSON.parse(document.getElementById("material").textContent);
const part = (id) => document.getElementById(id);
let annotator = "", order = [], answers = []; // answers: [picture, label], in the order in which they were given

// The same order as trex/labelling/poll.py.
function hashed(text, state) {
  for (const byte of new TextEncoder().encode(text)) state = Math.imul(state ^ byte, 0x01000193) >>> 0;
  return state;
}

function stirred(state) {
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

function orderOf(annotator, names, key) {
  const start = hashed(`${key} ${annotator} `, 0x811c9dc5);
  const rank = new Map(names.map((name) => [name, stirred(hashed(name, start))]));
  return [...names].sort((a, b) => rank.get(a) - rank.get(b) || (a < b ? -1 : 1));
}

function csvOf(columns, annotator, answers) {
  const quoted = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const rows = answers.map(([picture, label]) => [picture, annotator, label].map(quoted));
  return [columns, ...rows].map((row) => row.join(",") + "\n").join("");
}

const place = () => `trex label ${material.key} ${annotator}`;

function keep() {
  try {
    localStorage.setItem(place(), JSON.stringify(answers));
  } catch {
    part("unkept").hidden = false;
  }
}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(place())) ?? [];
  } catch {
    part("unkept").hidden = false;
    return [];
  }
}

function show() {
  const labelled = new Set(answers.map(([picture]) => picture));
  const next = order.find((name) => !labelled.has(name));
  const isDone = next === undefined;
  part("question").hidden = isDone;
  part("title").textContent = isDone ? "All pictures are labeled" : material.question;
  part("where").textContent = isDone
    ? "Download your answers, and send the file to whoever gave you this page."
    : `Picture ${answers.length + 1} of ${order.length}`;
  part("bar").value = answers.length;
  part("undo").disabled = answers.length === 0;
  part("download").disabled = answers.length === 0;
  if (isDone) return;
  const [, shown, caption] = material.pictures.find(([name]) => name === next);
  part("sharp").src = part("smooth").src = shown;
  part("caption").textContent = caption;
  part("caption").hidden = caption === "";
  part("question").dataset.picture = next;
}

part("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  annotator = part("annotator").value;
  order = orderOf(annotator, material.pictures.map(([name]) => name), material.key);
  answers = kept();
  part("who").textContent = annotator;
  part("start").hidden = true;
  part("vote").hidden = false;
  document.activeElement.blur();
  show();
});

// Answers that the same person gives in another tab count here too, instead of being written over.
window.addEventListener("storage", (event) => {
  if (annotator === "" || event.key !== place()) return;
  answers = kept();
  show();
});

part("question").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  answers.push([part("question").dataset.picture, button.value]);
  keep();
  show();
});

part("undo").addEventListener("click", () => {
  answers.pop();
  keep();
  show();
});

part("download").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csvOf(material.columns, annotator, answers)], { type: "text/csv" }));
  link.download = `votes-${annotator}.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
});
