// Traffic drawn: the scale against par and lower bound, and loads and stores move by move.
"use strict";

const Chart = (() => {
  function text(x, y, words, anchor = "start") {
    const element = svg("text", { x, y, "text-anchor": anchor });
    element.textContent = words;
    return element;
  }

  function scale(root, { io, par, low, exact }) {
    const width = root.clientWidth || 320;
    const most = Math.max(io, (par ?? low) * 1.4, low * 1.4, 1);
    const at = (value) => (value / most) * width;
    root.setAttribute("viewBox", `0 0 ${width} 50`);
    const fill = svg("rect", { class: par !== null && io > par ? "fill over" : "fill", y: 19, height: 12, rx: 6, width: at(io) });
    root.replaceChildren(svg("rect", { class: "track", y: 19, height: 12, rx: 6, width }), fill);
    const mark = (value, words, y, kind) => {
      root.append(svg("line", { class: `mark ${kind}`, x1: at(value), x2: at(value), y1: 14, y2: 36 }));
      const side = at(value) < 100 ? "start" : "end";
      root.append(text(at(value) + (side === "start" ? -1 : 1), y, words, side));
    };
    if (par !== null) mark(par, `${exact ? "par" : "best known"} ${par}`, 10, "");
    if (par !== low || !exact) mark(low, `lower bound ${low}`, 48, "low");
    else root.append(text(at(low) + 1, 48, "= lower bound", at(low) < 100 ? "start" : "end"));
    const words = par === null ? "" : `, ${exact ? "par" : "best known"} ${par}`;
    root.setAttribute("aria-label", `traffic ${io}${words}, lower bound ${low}`);
  }

  // Cumulated loads and stores after each move.
  function tally(moves) {
    let [loads, stores] = [0, 0];
    return moves.map(({ kind }) => {
      if (kind === Rules.LOAD) loads += 1;
      if (kind === Rules.STORE) stores += 1;
      return [loads, stores];
    });
  }

  function draw(root, moves, { par, exact = true, total = 0, other = null }) {
    const [width, height] = [root.clientWidth || 320, root.clientHeight || 150];
    const [left, right, top, bottom] = [26, 8, 18, 20];
    const points = [[0, 0], ...tally(moves)];
    const ghost = other ? [[0, 0], ...tally(other)] : [];
    const steps = Math.max(moves.length, total, ghost.length - 1, 8);
    const sum = (p) => p[0] + p[1];
    const most = Math.max(...points.map(sum), ...ghost.map(sum), (par ?? 0) * 1.15, 4);
    const x = (step) => left + ((width - left - right) * step) / steps;
    const y = (io) => height - bottom - ((height - top - bottom) * io) / most;
    root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    root.replaceChildren();
    const stairs = (values) => values.map((value, i) => (i ? `H${x(i)}V${y(value)}` : `M${x(0)},${y(value)}`)).join("");
    const area = (over, under) =>
      stairs(over) + under.map((value, i) => [value, i]).reverse()
        .map(([value, i]) => `${i === under.length - 1 ? "L" : "H"}${x(i)}${i === under.length - 1 ? "," : "V"}${y(value)}`).join("") + "Z";
    const loads = points.map((p) => p[0]);
    if (points.length > 1) {
      root.append(svg("path", { class: "loads", d: `${stairs(loads)}V${y(0)}H${x(0)}Z` }));
      root.append(svg("path", { class: "stores", d: `${stairs(points.map(sum))}V${y(loads[loads.length - 1])}` +
        loads.map((value, i) => [value, i]).reverse().map(([value, i]) => (i ? `H${x(i)}V${y(loads[i - 1])}` : "")).join("") + "Z" }));
      root.append(text(Math.min(x(moves.length) + 4, width - right - 14), y(sum(points[points.length - 1])) - 3, String(sum(points[points.length - 1]))));
    }
    if (ghost.length) root.append(svg("path", { class: "ghost", d: stairs(ghost.map(sum)) }));
    if (par !== null) {
      root.append(svg("line", { class: "mark low", x1: left, x2: width - right, y1: y(par), y2: y(par) }));
      root.append(text(left - 4, y(par) + 4, String(par), "end"));
      root.append(text(left + 4, y(par) - 5, exact ? "par" : "best known"));
    }
    root.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: y(0), y2: y(0) }));
    root.append(text(left - 4, y(0) + 4, "0", "end"), text(width - right, height - 5, `${steps} moves`, "end"));
    const keys = [["loads", "loads"], ["stores", "stores"]];
    if (ghost.length) keys.push(["ghost", "your play"]);
    let place = left;
    for (const [kind, words] of keys) {
      if (kind === "ghost") root.append(svg("path", { class: kind, d: `M${place},${height - 9}h14` }));
      else root.append(svg("rect", { class: kind, x: place, y: height - 13, width: 12, height: 8 }));
      root.append(text(place + 17, height - 5, words));
      place += 28 + words.length * 6.4;
    }
    const [last] = points.slice(-1);
    root.setAttribute("aria-label", `after ${moves.length} moves: ${last[0]} loads and ${last[1]} stores`);
  }

  return { scale, draw };
})();
