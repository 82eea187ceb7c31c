// On the page of the language's names, a box that hides all that does not match; elsewhere, names in programs that lead there.
document.addEventListener("DOMContentLoaded", () => {
  const sections = [...document.querySelectorAll("section")].filter((s) => s.id.startsWith("T."));
  if (sections.length > 0) addFilter(sections);
  const root = document.documentElement.dataset.content_root || "./";
  const page = sections.length > 0 ? "" : root + "language/reference.html";
  for (const dot of document.querySelectorAll(".highlight-python span.o")) {
    const before = dot.previousElementSibling, name = dot.nextElementSibling;
    if (dot.textContent !== "." || !before || before.textContent !== "T" || !name) continue;
    const link = document.createElement("a");
    link.href = page + "#T." + name.textContent;
    link.className = "name-of-the-language";
    name.replaceWith(link);
    link.append(name);
  }
});

function addFilter(sections) {
  const box = document.createElement("input");
  box.type = "search";
  box.id = "filter";
  box.placeholder = "Filter by name or text, such as `atomic` or `NaN`";
  document.querySelector("h1").after(box);
  const texts = sections.map((s) => s.textContent.toLowerCase());
  const groups = [...document.querySelectorAll("section > section")].filter((s) => !s.id.startsWith("T."));
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter((w) => w);
    sections.forEach((s, i) => (s.hidden = !words.every((w) => texts[i].includes(w))));
    groups.forEach((g) => {
      const inside = sections.filter((s) => g.contains(s));
      if (inside.length > 0) g.hidden = inside.every((s) => s.hidden);
    });
  });
}
