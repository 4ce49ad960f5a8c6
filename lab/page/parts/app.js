// The page: one level at a time, the player's own game, and replays beside it.
"use strict";

(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const { levels } = data;
  const { LOAD, STORE, COMPUTE, DELETE, KINDS } = Rules;
  const VERBS = [LOAD, COMPUTE, STORE, DELETE];

  const state = {
    index: 0, level: null, dag: null, game: null, undone: [], hints: 0, turn: 0,
    replay: null, // {title, moves, game, timer}
  };
  const memory = remembered();
  const board = new Board($("board"), $("scroller"), { onSelect: select, onObvious: obvious });
  const shown = () => (state.replay ? state.replay.game : state.game);
  const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

  // -- what the browser remembers, where it may ---------------------------------------------

  function remembered() {
    const key = "redblue-pebble";
    let kept = {};
    try {
      kept = JSON.parse(localStorage.getItem(key)) || {};
    } catch { /* a private window, or a file that may not store: nothing is remembered */ }
    return {
      get: (name) => kept[name],
      set(name, value) {
        kept[name] = value;
        try {
          localStorage.setItem(key, JSON.stringify(kept));
        } catch { /* as above */ }
      },
    };
  }

  // -- levels --------------------------------------------------------------------------------

  function fresh() {
    return new Rules.Game(state.dag, state.level.memory, state.level.rules);
  }

  function open(index, { focus = false } = {}) {
    stopReplay();
    const level = levels[index];
    Object.assign(state, { index, level, dag: new Rules.Dag(level.dag), undone: [], hints: 0 });
    state.turn += 1;
    state.game = fresh();
    $("title").textContent = level.title;
    $("goal").textContent = level.goal;
    $("text").replaceChildren(...level.text.map(paragraph));
    $("rules-text").textContent = `Rules ${level.rules.text}: ${level.rules.described.join("; ")}.`;
    $("trace").value = "";
    $("trace-error").textContent = "";
    const options = level.plays.map((play, i) => new Option(`${play.title} (traffic ${play.io})`, String(i)));
    const others = document.createElement("optgroup");
    others.label = "other strategies";
    others.append(...options.filter((_, i) => level.plays[i].other));
    $("plays").replaceChildren(
      ...options.filter((_, i) => !level.plays[i].other),
      new Option("My own play", "mine"),
      ...(others.children.length ? [others] : [])
    );
    board.draw(level, state.dag);
    board.select(-1);
    const goals = level.dag.outputs.length === 1 ? "The dashed square is" : "The dashed squares are";
    say(index ? "Select a vertex, then choose a move." : `${goals} the goal. Select ${level.drawing.labels[0]} to begin.`);
    if (decodeURIComponent(location.hash.slice(1)) !== level.name)
      remark(`#${encodeURIComponent(level.name)}`);
    render();
    $("scroller").scrollTo(0, 0);
    if (focus) $("title").focus({ preventScroll: true });
    document.querySelector(".path [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    if (focus) window.scrollTo({ top: 0 });
  }

  // The address names the lesson, where there is an address: in a notebook's frame there is none.
  function remark(hash) {
    try {
      history.replaceState(null, "", hash);
    } catch { /* a frame without an address of its own */ }
  }

  // A text whose words between ** are bold.
  function paragraph(text) {
    const p = document.createElement("p");
    text.split("**").forEach((part, i) => {
      const piece = i % 2 ? document.createElement("strong") : document.createTextNode(part);
      if (i % 2) piece.textContent = part;
      p.append(piece);
    });
    return p;
  }

  function starsOf(level, io) {
    if (level.par === null) return 1;
    return io <= level.par ? 3 : 4 * io <= 5 * level.par ? 2 : 1;
  }

  const starText = (n) => "★".repeat(n) + "☆".repeat(3 - n);

  function renderPath() {
    const stars = memory.get("stars") || {};
    const items = levels.map((level, i) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = String(i + 1);
      const got = stars[level.name] || 0;
      const small = document.createElement("small");
      small.textContent = got ? "★".repeat(got) : "";
      small.setAttribute("aria-hidden", "true");
      button.append(small);
      button.title = level.title;
      button.setAttribute("aria-label", `Lesson ${i + 1}: ${level.title}${got ? `, ${plural(got, "star")}` : ""}`);
      if (i === state.index) button.setAttribute("aria-current", "step");
      button.addEventListener("click", () => open(i, { focus: true }));
      const item = document.createElement("li");
      item.append(button);
      return item;
    });
    $("path").replaceChildren(...items);
    $("path").parentElement.hidden = levels.length < 2;
  }

  // -- showing ---------------------------------------------------------------------------------

  function say(text, kind = "") {
    $("message").textContent = text;
    $("message").className = kind;
  }

  function describe(v) {
    const game = shown();
    const { dag } = state;
    const red = game.isRed(v);
    const blue = game.isBlue(v);
    const pebbles = red && blue ? "red and blue" : red ? "red" : blue ? "blue" : "no pebble";
    const operands = dag.operands(v).map((u) => dag.name(u));
    const made = dag.isInput[v] ? "input" : `from ${operands.join(" and ") || "nothing"}`;
    return `${dag.name(v)}, ${made}${dag.isOutput[v] ? ", output" : ""}: ${pebbles}`;
  }

  function render() {
    const game = shown();
    const { level, replay } = state;
    board.update(game, describe);
    const v = board.selected;
    for (const button of $("verbs").children) {
      const dead = v < 0 || Rules.brokenRule(game, Number(button.dataset.kind), v) !== "";
      button.setAttribute("aria-disabled", String(dead));
    }
    $("undo").setAttribute("aria-disabled", String(!game.step));
    $("redo").setAttribute("aria-disabled", String(!state.undone.length));
    $("restart").setAttribute("aria-disabled", String(!game.step));
    $("red-count").textContent = `${game.red.size} of ${level.memory}`;
    $("reds").replaceChildren(
      ...Array.from({ length: Math.max(level.memory, game.red.size) }, (_, i) => {
        const dot = document.createElement("i");
        dot.className = i < game.red.size ? "on" : "";
        return dot;
      })
    );
    $("reds").setAttribute("aria-label", `${game.red.size} of ${level.memory} red pebbles in use`);
    $("io-count").textContent = String(game.io);
    const computes = game.counts[COMPUTE];
    $("counts").textContent =
      `${plural(game.loads, "load")}, ${plural(game.stores, "store")}; ${plural(computes, "compute")}, free`;
    Chart.scale($("scale"), { io: game.io, par: level.par, low: level.lower_bound, exact: level.exact });
    Chart.draw($("chart"), game.moves, {
      par: level.par,
      exact: level.exact,
      total: replay ? replay.moves.length : 0,
      other: replay && replay.title !== "My own play" && state.game.step ? state.game.moves : null,
    });
    $("verbs").hidden = $("edits").hidden = Boolean(replay);
    $("player").hidden = $("watching").hidden = !replay;
    if (replay) {
      $("watching-what").textContent = `Watching: ${replay.title} · move ${game.step} of ${replay.moves.length}`;
      $("seek").max = String(replay.moves.length);
      $("seek").value = String(game.step);
      $("play").textContent = replay.timer ? "Pause" : game.step < replay.moves.length ? "Play" : "Play again";
    }
    const done = !replay && state.game.finished;
    $("done").hidden = !done;
    // The card says it all; the message is then for screen readers alone.
    $("message").classList.toggle("sr", done);
    renderPath();
  }

  // -- playing ---------------------------------------------------------------------------------

  function select(v) {
    if (board.selected === v) return;
    board.select(v);
    board.mark("lacks", []);
    if (!state.replay) say(sentence(v));
    render();
  }

  function sentence(v) {
    const text = describe(v);
    const game = shown();
    const can = VERBS.filter((kind) => !Rules.brokenRule(game, kind, v));
    const verbs = can.map((kind) => KINDS[kind].toLowerCase());
    return `${text}. ${verbs.length ? `You can ${verbs.join(" or ")} it.` : "No move is legal here now."}`;
  }

  function make(kind, v = board.selected) {
    if (state.replay) return;
    if (v < 0) {
      say(`Select the vertex to ${KINDS[kind].toLowerCase()} first.`, "warn");
      return;
    }
    const { game } = state;
    board.mark("hinted", []);
    const refusal = game.push({ kind, vertex: v });
    if (refusal) {
      say(`Not legal. ${refusal.text}`, "warn");
      board.mark("lacks", refusal.missing.filter((u) => u !== v));
      board.shake(v);
      return;
    }
    state.undone = [];
    state.turn += 1;
    board.mark("lacks", []);
    const cost = kind === LOAD || kind === STORE ? `traffic is now ${game.io}` : "free";
    say(`Step ${game.step}: ${KINDS[kind]} ${state.dag.name(v)}, ${cost}.`);
    if (game.finished) finish();
    render();
    if (game.finished) $("done").scrollIntoView({ block: "nearest" });
  }

  function obvious(v) {
    const { game } = state;
    if (state.replay) return;
    if (v !== board.selected) select(v);
    if (game.isRed(v)) {
      make(state.dag.isOutput[v] && !game.isBlue(v) ? STORE : DELETE, v);
    } else {
      make(game.isBlue(v) ? LOAD : COMPUTE, v);
    }
  }

  function undo() {
    if (state.replay || !state.game.step) return;
    const move = state.game.pop();
    state.undone.push(move);
    state.turn += 1;
    board.mark("lacks", []);
    board.mark("hinted", []);
    say(`Took back ${KINDS[move.kind]} ${state.dag.name(move.vertex)}.`);
    render();
  }

  function redo() {
    if (state.replay || !state.undone.length) return;
    const move = state.undone.pop();
    state.game.push(move);
    state.turn += 1;
    say(`Made ${KINDS[move.kind]} ${state.dag.name(move.vertex)} again.`);
    if (state.game.finished) finish();
    render();
  }

  function restart() {
    if (state.replay || !state.game.step) return;
    // All moves can be redone: a restart by mistake loses nothing.
    while (state.game.step) state.undone.push(state.game.pop());
    state.turn += 1;
    state.hints = 0;
    board.mark("lacks", []);
    board.mark("hinted", []);
    say("Back at the start. Redo brings your moves back one by one.");
    render();
  }

  // -- the end, and what could have been better -------------------------------------------------

  function finish() {
    const { level, game, index } = state;
    const stars = starsOf(level, game.io);
    const kept = { ...(memory.get("stars") || {}) };
    kept[level.name] = Math.max(kept[level.name] || 0, stars);
    memory.set("stars", kept);
    $("stars").textContent = starText(stars);
    $("stars").setAttribute("aria-label", `${plural(stars, "star")} of 3`);
    $("insight").textContent = level.insight;
    $("costly").textContent = "";
    $("show-costly").hidden = true;
    $("next").hidden = index + 1 >= levels.length;
    const { par, exact, lower_bound: low } = level;
    const word = exact ? "the optimum" : "the best known";
    let verdict = `Done with a traffic of ${game.io}.`;
    if (par !== null && game.io < par) verdict += ` That beats ${word}, ${par}!`;
    else if (par !== null && game.io === par)
      verdict += exact ? " That is par: nobody can do better." : ` That equals ${word}.`;
    else if (par !== null) verdict += ` Par is ${par}: ${game.io - par} too much.`;
    else verdict += game.io === low ? " That meets the lower bound: nobody can do better." : ` No play can do it with less than ${low}.`;
    $("verdict").textContent = verdict;
    say(`Finished. ${verdict}`);
    if (par !== null && game.io > par) explain();
  }

  async function explain() {
    const { turn, game, level } = state;
    const silent = Advisor.refusal(game);
    if (silent) {
      $("costly").textContent = `Which move cost it? ${silent}.`;
      return;
    }
    $("costly").textContent = "Looking for the first move that cost something …";
    const moves = [...game.moves];
    const found = await Advisor.firstCostly(moves, fresh, level.par, () => state.turn === turn);
    if (state.turn !== turn) return;
    const move = moves[found.step - 1];
    const where = found.exact
      ? `The first move that cost something was step ${found.step}, ${KINDS[move.kind]} ${state.dag.name(move.vertex)}: before it, ${level.par} was still within reach.`
      : `Par slipped out of reach between steps ${found.from} and ${found.step}; the board is too large to say where.`;
    $("costly").textContent = where;
    const button = $("show-costly");
    button.hidden = false;
    button.onclick = () => watch("My own play", moves, found.step - 1);
  }

  async function hint() {
    if (state.replay) return;
    const { game, level, turn } = state;
    if (game.finished) return say("You are there: every goal is blue.");
    if (state.hints < level.hints.length) {
      say(`Hint: ${level.hints[state.hints]}`);
      state.hints += 1;
      return;
    }
    const best = level.plays.find((play) => play.best);
    const way = best ? best.moves.map((text) => Rules.parseMove(text, state.dag)) : [];
    if (best && game.moves.every((m, i) => way[i] && way[i].kind === m.kind && way[i].vertex === m.vertex))
      return point(way[game.step], `${level.exact ? "par" : "the best known"}, ${level.par},`);
    const silent = Advisor.refusal(game);
    if (silent) return say(`No hint: ${silent}.`);
    say("Thinking …");
    const found = await Advisor.ask(game, {}, () => state.turn === turn);
    if (state.turn !== turn || found === null) return;
    if (found.gaveUp) return say("No hint: from here the best way on is too far to see. Undo a few moves.");
    if (found.cost === null) return say("From here nothing leads to the goal: a value is lost. Undo.");
    const total = game.io + found.cost;
    const left = level.par !== null && total > level.par;
    point(found.moves[0], left ? `a total of ${total} (par, ${level.par}, is out of reach from here)` : `a total of ${total}`);
  }

  function point(move, towards) {
    const name = state.dag.name(move.vertex);
    board.mark("hinted", [move.vertex]);
    board.show(move.vertex);
    say(`Hint: ${KINDS[move.kind]} ${name} leads to ${towards}.`.replace(",.", "."));
  }

  // -- replays -----------------------------------------------------------------------------------

  function watch(title, moves, at = 0) {
    stopReplay();
    state.replay = { title, moves, game: fresh(), timer: 0 };
    board.mark("lacks", []);
    board.mark("hinted", []);
    seek(at);
    if (at === 0) play();
    $("scroller").scrollIntoView({ block: "nearest" });
  }

  function stopReplay() {
    if (!state.replay) return;
    clearInterval(state.replay.timer);
    state.replay = null;
  }

  function seek(step) {
    const { replay } = state;
    const to = Math.max(0, Math.min(step, replay.moves.length));
    while (replay.game.step > to) replay.game.pop();
    while (replay.game.step < to) replay.game.push(replay.moves[replay.game.step]);
    const move = replay.moves[to - 1];
    board.select(move ? move.vertex : -1);
    if (move) board.show(move.vertex);
    const cost = move && (move.kind === LOAD || move.kind === STORE) ? `, traffic ${replay.game.io}` : "";
    say(move ? `Step ${to}: ${KINDS[move.kind]} ${state.dag.name(move.vertex)}${cost}.` : "At the start.");
    if (to === replay.moves.length && replay.timer) pause();
    render();
  }

  function play() {
    const { replay } = state;
    if (replay.timer) return pause();
    if (replay.game.step === replay.moves.length) seek(0);
    const pace = Math.max(120, Math.min(650, 24000 / replay.moves.length));
    replay.timer = setInterval(() => seek(replay.game.step + 1), pace);
    render();
  }

  function pause() {
    clearInterval(state.replay.timer);
    state.replay.timer = 0;
    render();
  }

  function step(by) {
    if (state.replay.timer) pause();
    seek(state.replay.game.step + by);
  }

  function leaveReplay() {
    stopReplay();
    board.select(-1);
    say("Back to your own game.");
    render();
  }

  function watchChosen() {
    const choice = $("plays").value;
    if (choice === "mine") {
      if (!state.game.step) return say("You have made no move yet.", "warn");
      return watch("My own play", [...state.game.moves]);
    }
    const chosen = state.level.plays[Number(choice)];
    watch(chosen.title, chosen.moves.map((text) => Rules.parseMove(text, state.dag)));
  }

  // -- traces ------------------------------------------------------------------------------------

  function exportTrace() {
    $("trace").value = Traces.write(state.level, state.dag, state.game.moves);
    const refusal = Rules.unfinished(state.game);
    $("trace-error").textContent = refusal ? `Not finished yet: ${refusal.text}` : "";
    $("trace").select();
  }

  function download() {
    if (!$("trace").value.trim()) exportTrace();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([$("trace").value], { type: "text/plain" }));
    link.download = `${state.level.name.replace(/[^\w.-]+/g, "-")}.txt`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function watchTrace() {
    const read = Traces.read($("trace").value, state.level, state.dag, fresh);
    $("trace-error").textContent = read.error || "";
    if (read.moves.length) watch("pasted trace", read.moves);
  }

  // -- keys and buttons ----------------------------------------------------------------------------

  function key(event) {
    const { target } = event;
    if (target.matches("textarea, select, input[type=text]")) return;
    const letter = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && !event.altKey) {
      if (letter === "z") event.shiftKey ? redo() : undo();
      else if (letter === "y") redo();
      else return;
      event.preventDefault();
      return;
    }
    if (event.altKey) return;
    const onVertex = target.closest?.(".vertex");
    const onButton = target.matches("button, summary, a, input");
    if (state.replay) {
      const acts = { " ": () => play(), ",": () => step(-1), ".": () => step(1), escape: leaveReplay };
      if (acts[letter] && !(letter === " " && onButton)) {
        event.preventDefault();
        acts[letter]();
      }
      return;
    }
    const acts = {
      l: () => make(LOAD), c: () => make(COMPUTE), s: () => make(STORE), d: () => make(DELETE),
      u: undo, r: redo, h: hint,
      n: () => state.index + 1 < levels.length && open(state.index + 1, { focus: true }),
      p: () => state.index && open(state.index - 1, { focus: true }),
    };
    if (acts[letter]) {
      event.preventDefault();
      acts[letter]();
    } else if ((letter === "enter" || letter === " ") && onVertex) {
      event.preventDefault();
      obvious(Number(onVertex.dataset.v));
    }
  }

  function theme(name) {
    document.documentElement.dataset.theme = name;
    memory.set("theme", name);
  }

  document.addEventListener("keydown", key);
  for (const button of $("verbs").children)
    button.addEventListener("click", () => make(Number(button.dataset.kind)));
  const clicks = {
    undo, redo, restart, hint, play, download,
    next: () => open(state.index + 1, { focus: true }),
    again: () => { restart(); board.focus(board.selected < 0 ? 0 : board.selected); },
    watch: watchChosen, stop: leaveReplay, export: exportTrace, "watch-trace": watchTrace,
    first: () => step(-Infinity), back: () => step(-1), step: () => step(1), last: () => step(Infinity),
    theme: () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
  };
  for (const [id, act] of Object.entries(clicks)) $(id).addEventListener("click", () => act());
  $("seek").addEventListener("input", () => {
    if (state.replay.timer) pause();
    seek(Number($("seek").value));
  });
  window.addEventListener("resize", () => render());
  window.addEventListener("hashchange", () => {
    const i = levels.findIndex((level) => level.name === decodeURIComponent(location.hash.slice(1)));
    if (i >= 0 && i !== state.index) open(i);
  });
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = memory.get("theme") || (dark ? "dark" : "light");
  const named = levels.findIndex((level) => level.name === decodeURIComponent(location.hash.slice(1)));
  open(Math.max(named, 0));
  if (data.watch !== undefined && state.index === 0) {
    $("plays").value = String(data.watch);
    watchChosen();
  }
})();
