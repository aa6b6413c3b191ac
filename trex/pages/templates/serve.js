"use strict";
// Renews what is live on the page of the queue: every text is set as text, never as HTML.
const TEXTS = 5; // the first columns of a query are words, the others numbers; of a worker the first three

function cell(text, isNumber, href) {
  const td = document.createElement("td");
  if (isNumber) td.className = "number";
  if (href) {
    const link = document.createElement("a");
    link.href = href;
    link.textContent = text;
    td.append(link);
  } else {
    td.textContent = text;
  }
  return td;
}

function queryRow(row) {
  const tr = document.createElement("tr");
  const run = "/runs/" + encodeURIComponent(row.run);
  tr.className = row.state;
  tr.append(...row.cells.map((text, i) => cell(text, i >= TEXTS, i === 0 ? run : "")));
  tr.append(cell(row.report ? "report" : "", false, row.report ? run + "/report" : ""));
  return tr;
}

function workerRow(worker) {
  const tr = document.createElement("tr");
  tr.append(...worker.map((text, i) => cell(text, i >= 3, "")));
  return tr;
}

function show(live) {
  document.getElementById("headline").textContent = live.headline;
  for (const count of document.querySelectorAll(".count")) count.textContent = live.counts[count.dataset.state];
  document.getElementById("working").hidden = live.running.length === 0;
  document.querySelector("#running tbody").replaceChildren(...live.running.map(queryRow));
  document.getElementById("crew").hidden = live.workers.length === 0;
  document.querySelector("#workers tbody").replaceChildren(...live.workers.map(workerRow));
}

const events = new EventSource("/events");
const lost = document.getElementById("lost");
events.onmessage = (event) => { lost.hidden = true; show(JSON.parse(event.data)); };
events.onerror = () => { lost.hidden = false; };
