// The drawing of a level: one group per vertex, whose classes tell what it carries.
"use strict";

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

class Board {
  static STEP = 88; // from one place to the next
  static RADIUS = 24;
  static HALF = 33; // half the side of a blue plate

  constructor(root, scroller, { onSelect, onObvious }) {
    this.root = root;
    this.scroller = scroller;
    this.onSelect = onSelect;
    this.onObvious = onObvious;
    this.selected = -1;
    this.groups = [];
    root.addEventListener("keydown", (event) => this.arrow(event));
    new ResizeObserver(() => this.fit()).observe(scroller);
  }

  draw(level, dag) {
    const { places, edges, bands, labels } = level.drawing;
    const { STEP, HALF } = Board;
    const margin = HALF + 12;
    const xs = places.map((p) => p[0]);
    const ys = places.map((p) => p[1]);
    const [left, top] = [Math.min(...xs), Math.max(...ys)];
    this.at = ([x, y]) => [margin + (x - left) * STEP, margin + (top - y) * STEP * 1.02];
    this.width = 2 * margin + (Math.max(...xs) - left) * STEP;
    this.height = 2 * margin + (top - Math.min(...ys)) * STEP * 1.02;
    this.root.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.root.replaceChildren();
    this.dag = dag;
    this.points = places.map(this.at);
    this.selected = -1;
    for (const band of bands) this.root.append(...this.band(band));
    this.lines = edges.map(([u, v, between]) => this.edge(u, v, between));
    this.root.append(...this.lines.flatMap((line) => line.parts));
    this.groups = places.map((_, v) => this.vertex(v, labels[v]));
    // Down the page is the order of reading, and of the tab key within a screen reader.
    const order = places.map((_, v) => v);
    order.sort((a, b) => places[a][1] - places[b][1] || places[a][0] - places[b][0]);
    this.root.append(...order.map((v) => this.groups[v]));
    this.groups[order[0]].setAttribute("tabindex", "0");
    this.fit();
  }

  // As large as the room allows, but never so small that a finger misses.
  fit() {
    if (!this.width || !this.scroller.clientWidth) return;
    const phone = window.matchMedia("(max-width: 860px)").matches;
    const room = this.scroller.clientWidth - 16;
    const tall = phone ? window.innerHeight * 0.52 : Math.max(380, Math.min(window.innerHeight * 0.62, window.innerHeight - 400));
    const scale = Math.max(Math.min(room / this.width, tall / this.height, 1.25), phone ? 0.6 : 0.55);
    this.root.setAttribute("width", Math.round(this.width * scale));
    this.root.setAttribute("height", Math.round(this.height * scale));
  }

  band({ vertices }) {
    const first = this.points[vertices[0]];
    const last = this.points[vertices[vertices.length - 1]];
    const pad = Board.HALF + 5;
    const box = svg("rect", {
      class: "band", rx: 18, x: first[0] - pad, y: first[1] - pad,
      width: last[0] - first[0] + 2 * pad, height: 2 * pad,
    });
    return [box];
  }

  edge(u, v, between) {
    const points = [this.points[u], ...between.map(this.at), this.points[v]];
    const [x, y] = points[points.length - 1];
    const [px, py] = points[points.length - 2];
    const length = Math.hypot(x - px, y - py) || 1;
    const [dx, dy] = [(x - px) / length, (y - py) / length];
    const stop = Board.RADIUS + 3;
    const end = [x - dx * stop, y - dy * stop];
    points[points.length - 1] = [end[0] - dx * 6, end[1] - dy * 6];
    let path = `M${points[0]}`;
    for (let i = 1; i < points.length - 1; i++) {
      const [a, b] = [points[i], points[i + 1]];
      const target = i === points.length - 2 ? b : [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
      path += `Q${a} ${target}`;
    }
    if (points.length === 2) path += `L${points[1]}`;
    const wing = (side) => `${end[0] - dx * 9 - dy * 4.5 * side},${end[1] - dy * 9 + dx * 4.5 * side}`;
    const line = svg("path", { class: "edge", d: path });
    const tip = svg("path", { class: "tip", d: `M${end}L${wing(1)}L${wing(-1)}Z` });
    return { u, v, parts: [line, tip] };
  }

  vertex(v, label) {
    const { RADIUS, HALF } = Board;
    const [x, y] = this.points[v];
    const square = { x: -HALF, y: -HALF, width: 2 * HALF, height: 2 * HALF, rx: 9 };
    const text = svg("text", { class: label.length > 3 ? "long" : "", "aria-hidden": "true" });
    text.textContent = label;
    const title = svg("title");
    title.textContent = this.dag.name(v);
    const group = svg(
      "g",
      { class: "vertex", transform: `translate(${x} ${y})`, tabindex: "-1", role: "button", "data-v": v },
      title,
      svg("rect", { class: "hit", x: -40, y: -40, width: 80, height: 80 }),
      svg("rect", { class: "wanted", ...square }),
      svg("rect", { class: "plate", ...square }),
      svg("circle", { class: "base", r: RADIUS }),
      svg("circle", { class: "disc", r: RADIUS }),
      text,
      svg("rect", { class: "ring", x: -HALF - 5, y: -HALF - 5, width: 2 * HALF + 10, height: 2 * HALF + 10, rx: 13 })
    );
    group.addEventListener("click", () => this.onSelect(v));
    group.addEventListener("focus", () => this.onSelect(v));
    group.addEventListener("dblclick", () => this.onObvious(v));
    return group;
  }

  select(v) {
    this.selected = v;
    this.groups.forEach((group, w) => {
      group.classList.toggle("selected", w === v);
      if (v >= 0) group.setAttribute("tabindex", w === v ? "0" : "-1");
    });
    for (const { u, v: w, parts } of this.lines)
      for (const part of parts) part.classList.toggle("of", w === v && u >= 0);
  }

  focus(v) {
    this.groups[v].focus({ preventScroll: true });
    this.show(v);
  }

  show(v) {
    if (this.scroller.scrollWidth <= this.scroller.clientWidth) return;
    const box = this.groups[v].getBoundingClientRect();
    const frame = this.scroller.getBoundingClientRect();
    if (box.left < frame.left || box.right > frame.right)
      this.scroller.scrollBy({ left: box.left + box.width / 2 - frame.left - frame.width / 2 });
  }

  // Shows a position; `describe` gives a vertex's text for a screen reader.
  update(game, describe) {
    this.groups.forEach((group, v) => {
      const { classList } = group;
      classList.toggle("red", game.isRed(v));
      classList.toggle("blue", game.isBlue(v));
      classList.toggle("output", this.dag.isOutput[v] && !game.rules.unstored_outputs);
      const can = !game.isRed(v) && !["compute", "one-shot"].includes(Rules.brokenRule(game, Rules.COMPUTE, v));
      classList.toggle("can", can);
      group.setAttribute("aria-label", describe(v));
    });
  }

  mark(name, vertices) {
    this.groups.forEach((group, v) => group.classList.toggle(name, vertices.includes(v)));
  }

  shake(v) {
    const { classList } = this.groups[v];
    classList.remove("no");
    void this.groups[v].getBoundingClientRect(); // starts the animation anew
    classList.add("no");
  }

  arrow(event) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!way || event.ctrlKey || event.altKey || event.metaKey || !this.groups.length) return;
    event.preventDefault();
    if (this.selected < 0) {
      this.focus(Number(this.root.querySelector(".vertex").dataset.v));
      return;
    }
    const [x, y] = this.points[this.selected];
    let [best, least] = [-1, Infinity];
    this.points.forEach(([px, py], v) => {
      const along = (px - x) * way[0] + (py - y) * way[1];
      const aside = Math.abs((px - x) * way[1]) + Math.abs((py - y) * way[0]);
      if (along > 4 && along + 2.5 * aside < least) [best, least] = [v, along + 2.5 * aside];
    });
    if (best >= 0) this.focus(best);
  }
}
