"use strict";
// The page is whole without this. It shows values, chooses lines, changes colours
// and opens what a link leads to.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Colours: as the system, or as the reader says. What cannot be kept, as in some
  // browsers for files, holds until the page is closed.
  const theme = document.getElementById("theme");
  const words = { "": "system", light: "light", dark: "dark" };
  const show = (colours) => {
    document.documentElement.dataset.colours = colours;
    theme.lastElementChild.textContent = words[colours];
  };
  const keep = (work) => { try { return work(localStorage); } catch { return null; } };
  const kept = keep((s) => s.getItem("rushgate-lab-colours"));
  show(kept in words ? kept : "");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const order = Object.keys(words);
    const next = order[(order.indexOf(document.documentElement.dataset.colours) + 1) % order.length];
    show(next);
    keep((s) => s.setItem("rushgate-lab-colours", next));
  });

  // A link to a way opens it; a button opens all, as for paper.
  const ways = all("details.way");
  const reveal = () => {
    const way = ways.find((w) => "#" + w.id === location.hash);
    if (way) { way.open = true; way.scrollIntoView(); }
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (e) => {
    const link = e.target.closest && e.target.closest('a[href^="#way-"]');
    if (link && link.hash === location.hash) reveal();
  });
  reveal();
  const opener = document.getElementById("open");
  if (opener) {
    opener.hidden = false;
    opener.addEventListener("click", () => {
      const open = ways.some((w) => !w.open);
      ways.forEach((w) => { w.open = open; });
      opener.textContent = open ? "Close all" : "Open all";
    });
  }

  const section = document.querySelector(".latency");
  if (!section) return;
  const drawing = section.querySelector(".drawing"), tip = section.querySelector(".tip"), heard = document.getElementById("heard");
  const rows = all("tr[data-line]", section), paths = all("path[data-line]", section);

  // Which lines are shown.
  const filters = section.querySelector(".filters");
  filters.hidden = false;
  filters.reset(); // some browsers remember what was ticked
  const many = 10, enough = 3; // so many lines cannot be told apart: begin with those that held
  filters.elements.held.checked = rows.length > many && rows.filter((r) => r.dataset.grade === "fine").length >= enough;
  const choose = () => {
    const families = new Set(all("[name=family]:checked", filters).map((box) => box.value));
    for (const line of [...rows, ...paths]) {
      const shown = families.has(line.dataset.family) &&
        (!filters.elements.disk.checked || line.dataset.disk === "true") &&
        (!filters.elements.held.checked || line.dataset.grade === "fine");
      line.toggleAttribute("hidden", !shown);
    }
    forget();
  };
  filters.addEventListener("change", choose);
  filters.addEventListener("submit", (e) => e.preventDefault());

  // What one point of one line says.
  const points = new Map(paths.map((path) => [path, path.dataset.points.split(";").map((p) => {
    const [x, y, percent, time] = p.split("|");
    return { x: +x, y: +y, percent, time };
  })]));
  const visible = () => all(".plot", section).find((plot) => plot.getBoundingClientRect().width > 0);
  const forget = () => {
    drawing.classList.remove("choosing");
    all(".hot", section).forEach((e) => e.classList.remove("hot"));
    tip.hidden = true;
  };
  const tell = (path, at) => {
    const plot = path.ownerSVGElement, point = points.get(path)[at], box = plot.getBoundingClientRect();
    forget();
    drawing.classList.add("choosing");
    path.classList.add("hot");
    rows.find((r) => r.dataset.line === path.dataset.line).classList.add("hot");
    const here = plot.querySelector(".here");
    here.setAttribute("cx", point.x);
    here.setAttribute("cy", point.y);
    const said = point.percent.endsWith("%") ? point.percent + " waited at most " + point.time : "the " + point.percent + " waited " + point.time;
    const name = document.createElement("b");
    name.textContent = path.dataset.name;
    tip.replaceChildren(name, said);
    tip.hidden = false;
    const scale = box.width / plot.viewBox.baseVal.width;
    const left = Math.min(Math.max(point.x * scale - tip.offsetWidth / 2, 0), box.width - tip.offsetWidth);
    const above = point.y * scale - tip.offsetHeight - 12;
    tip.style.transform = `translate(${left}px, ${above < 0 ? point.y * scale + 14 : above}px)`;
    return path.dataset.name + ": " + said;
  };

  choose();

  // By pointer: the nearest point of the nearest line.
  const nearest = (event) => {
    const plot = visible(), box = plot.getBoundingClientRect(), scale = plot.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
    let best = null;
    for (const path of all("path[data-line]:not([hidden])", plot)) {
      points.get(path).forEach((p, at) => {
        const far = Math.hypot(p.x - x, p.y - y);
        if (!best || far < best.far) best = { path, at, far };
      });
    }
    if (best && best.far < 60) tell(best.path, best.at); else forget();
  };
  drawing.addEventListener("pointermove", nearest);
  drawing.addEventListener("pointerdown", nearest);
  drawing.addEventListener("pointerleave", (e) => { if (e.pointerType !== "touch") forget(); });

  // By the table, with the keyboard: the arrows go along the line.
  for (const row of rows) {
    const button = row.querySelector("button");
    let at = -1;
    const say = (loud) => {
      const path = all("path[data-line]", visible()).find((p) => p.dataset.line === row.dataset.line);
      const along = points.get(path);
      if (at < 0) at = Math.max(along.findIndex((p) => p.percent === "99 %"), 0);
      at = Math.min(Math.max(at, 0), along.length - 1);
      const text = tell(path, at);
      if (loud) heard.textContent = text;
    };
    row.addEventListener("pointerenter", () => say(false));
    row.addEventListener("pointerleave", forget);
    button.addEventListener("focus", () => say(false));
    button.addEventListener("click", () => say(true));
    button.addEventListener("blur", forget);
    button.addEventListener("keydown", (e) => {
      if (e.key === "Escape") return forget();
      if (e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
      e.preventDefault();
      at += e.key === "ArrowRight" ? 1 : -1;
      say(true);
    });
  }
})();
