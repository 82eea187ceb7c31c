"use strict";
// Lines that came from the same place in the program light up together: those under the pointer, and those that were
// clicked on, which stay and are scrolled to. A place has a number; the lines of a level are [text, place, place …].

const data = JSON.parse(document.getElementById("data").textContent);
const panes = [];
const linked = new Map(); // from a place to the elements that stand for it
let pinned = [];

function add(parent, tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function addLine(parent, number, text, places) {
  const line = add(parent, "div", "line", text);
  line.dataset.number = number;
  link(line, places);
  return line;
}

function link(element, places) {
  if (!places.length) return;
  element.classList.add("linked");
  element.dataset.places = places.join(" ");
  for (const place of places) {
    if (!linked.has(place)) linked.set(place, []);
    linked.get(place).push(element);
  }
}

function placesOf(target) {
  const element = target instanceof Element && target.closest("[data-places]");
  return element ? element.dataset.places.split(" ").map(Number) : [];
}

function mark(className, places) {
  for (const element of document.querySelectorAll("." + className)) element.classList.remove(className);
  for (const place of places) for (const element of linked.get(place) ?? []) element.classList.add(className);
}

function pin(places, clicked) {
  pinned = places;
  mark("pinned", places);
  for (const pane of panes) {
    const first = pane.lines.querySelector(".pinned");
    if (first && !pane.lines.contains(clicked)) pane.lines.scrollTop = first.offsetTop - pane.lines.clientHeight / 3;
  }
}

// A pane with a heading, and a box above that hides it.
function addPane(title) {
  const section = add(document.getElementById("levels"), "section");
  section.dataset.title = title;
  const heading = add(section, "h2", "", title + " ");
  const label = add(document.getElementById("choice"), "label", "", title);
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = true;
  box.addEventListener("change", () => { section.hidden = !box.checked; });
  label.prepend(box);
  const pane = { heading, lines: add(section, "div", "lines") };
  panes.push(pane);
  return pane;
}

function countsOf(place) {
  const found = [];
  for (const [name, of] of Object.entries(data.counts)) if (of[place]) found.push(`${of[place]} ${name}`);
  return found.join(", ");
}

function showSource() {
  const { lines } = addPane("Source");
  for (const file of data.files) {
    add(lines, "div", "file", file.name);
    file.lines.forEach((text, i) => {
      const number = file.first + i;
      const place = data.places.findIndex(([name, at]) => name === file.name && at === number);
      const line = addLine(lines, number, text, place < 0 ? [] : [place]);
      if (place < 0) return;
      const counts = countsOf(place);
      if (counts) add(line, "span", "counts", counts);
      for (const message of data.messages)
        if (message.places.includes(place)) add(lines, "div", "said", message.text).dataset.by = message.madeBy;
    });
  }
}

function showVersion(pane, version) {
  pane.lines.replaceChildren();
  for (const [place, elements] of linked) linked.set(place, elements.filter((element) => element.isConnected));
  version.lines.forEach(([text, ...places], i) => {
    const line = addLine(pane.lines, i + 1, data.texts[text], places);
    if (version.changes[i]) line.classList.add(version.changes[i]);
  });
  mark("pinned", pinned);
}

function showLevel(level) {
  const pane = addPane(level.title);
  const last = level.versions.length - 1;
  if (last > 0) {
    const select = add(pane.heading, "select");
    select.setAttribute("aria-label", "after which pass");
    level.versions.forEach((version, i) => { add(select, "option", "", version.madeBy).value = i; });
    select.value = last;
    select.addEventListener("change", () => showVersion(pane, level.versions[select.value]));
  }
  showVersion(pane, level.versions[last]);
}

function showMessages() {
  const details = document.getElementById("messages");
  const select = document.getElementById("messages-of");
  details.hidden = !data.messages.length;
  for (const by of ["all", ...new Set(data.messages.map((message) => message.madeBy))]) add(select, "option", "", by);
  const list = details.querySelector("ul");
  for (const message of data.messages) {
    const item = add(list, "li", "", `${message.madeBy}: ${message.text}`);
    item.dataset.by = message.madeBy;
    link(item, message.places);
  }
  select.addEventListener("change", () => {
    for (const element of document.querySelectorAll("[data-by]"))
      element.hidden = select.value !== "all" && element.dataset.by !== select.value;
  });
}

function showHead() {
  document.title = data.title;
  document.getElementById("title").textContent = data.title;
  for (const kernel of data.kernels)
    add(document.getElementById("kernels"), "li", "", `${kernel.name}: ${kernel.needs.join(", ")}`);
  for (const kernel of data.others)
    add(document.getElementById("kernels"), "li", "removed", `${kernel.name}: ${kernel.needs.join(", ")}`);
  for (const note of data.notes) add(document.getElementById("notes"), "li", "", note);
}

showHead();
showSource();
data.levels.forEach(showLevel);
showMessages();
document.addEventListener("mouseover", (event) => mark("lit", placesOf(event.target)));
document.addEventListener("click", (event) => {
  if (event.target.closest("header") && !placesOf(event.target).length) return;
  pin(placesOf(event.target), event.target);
});
