// The rules of the game, in the words of pebble/legality.py; tests hold the two against each other.
"use strict";

const Rules = (() => {
  const [LOAD, STORE, COMPUTE, DELETE] = [0, 1, 2, 3];
  const KINDS = ["LOAD", "STORE", "COMPUTE", "DELETE"];
  const LETTERS = "LSCD";

  class MoveError extends Error {}

  // What Python's repr makes of a text, so that messages read alike.
  function repr(text) {
    const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
    const body = text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replace(/\t/g, "\\t");
    return quote + (quote === "'" ? body.replace(/'/g, "\\'") : body) + quote;
  }

  class Dag {
    constructor({ names, operands, inputs, outputs, aliases = {}, fingerprint = "", source = "" }) {
      Object.assign(this, { names, rows: operands, outputs, fingerprint, source });
      this.size = names.length;
      this.inputs = inputs;
      this.isInput = names.map(() => false);
      this.isOutput = names.map(() => false);
      for (const v of inputs) this.isInput[v] = true;
      for (const v of outputs) this.isOutput[v] = true;
      this.users = names.map(() => []);
      operands.forEach((row, v) => row.forEach((u) => this.users[u].push(v)));
      this.byName = new Map(Object.entries(aliases));
      names.forEach((name, v) => this.byName.set(name, v));
      this.needed = names.map(() => false); // from which an output can be reached
      const stack = [...outputs];
      while (stack.length) {
        const v = stack.pop();
        if (this.needed[v]) continue;
        this.needed[v] = true;
        stack.push(...operands[v]);
      }
    }

    name(v) {
      return this.names[v];
    }

    operands(v) {
      return this.rows[v];
    }

    vertex(word) {
      if (this.byName.has(word)) return this.byName.get(word);
      if (/^[0-9]+$/.test(word) && Number(word) < this.size) return Number(word);
      const some = this.names.slice(0, 8).join(", ") + (this.size > 8 ? ", ..." : "");
      throw new MoveError(`there is no vertex ${repr(word)}; the vertices are ${some}`);
    }
  }

  // "L 17", or with a name "L Q[2,3]"; the words LOAD, STORE, COMPUTE, DELETE read as well.
  function parseMove(text, dag) {
    const match = text.trim().match(/^(\S+)\s+(\S.*)$/s);
    const kind = match ? [...LETTERS, ...KINDS].indexOf(match[1].toUpperCase()) : -1;
    if (kind < 0) {
      throw new MoveError(
        `${repr(text)} is no move: expected L, S, C or D and a vertex, as in 'L 17'`
      );
    }
    const word = match[2].trim();
    if (/^[0-9]+$/.test(word) && Number(word) >= dag.size) {
      const last = dag.size - 1;
      throw new MoveError(
        `${repr(text)}: there is no vertex ${Number(word)}; vertices are 0 to ${last}`
      );
    }
    const vertex = /^[0-9]+$/.test(word) ? Number(word) : dag.vertex(word);
    return { kind: kind % 4, vertex };
  }

  const writeMove = (move) => `${LETTERS[move.kind]} ${move.vertex}`;

  class Game {
    constructor(dag, memory, rules = {}) {
      if (rules.partial) throw new Error("this board does not know partial computation");
      this.dag = dag;
      this.memory = memory;
      this.rules = { text: "hk", ...rules };
      this.restart();
    }

    restart() {
      this.red = new Set();
      this.blue = new Set(this.rules.free_inputs ? [] : this.dag.inputs);
      this.computed = new Map();
      this.overfull = -1;
      this.moves = [];
      this.past = []; // overfull and peak before each move
      this.counts = [0, 0, 0, 0];
      this.peakRed = 0;
    }

    get step() {
      return this.moves.length;
    }

    get loads() {
      return this.counts[LOAD];
    }

    get stores() {
      return this.counts[STORE];
    }

    get io() {
      return this.loads + this.stores;
    }

    isRed(v) {
      return this.red.has(v);
    }

    isBlue(v) {
      return this.blue.has(v);
    }

    isComputed(v) {
      return this.computed.has(v);
    }

    missing() {
      const { dag, rules } = this;
      const waits = [];
      for (let v = 0; v < dag.size; v++) {
        if (!rules.complete && !dag.isOutput[v]) continue;
        const computed = (dag.isInput[v] && !rules.free_inputs) || this.isComputed(v);
        if (rules.complete && !computed) waits.push(v);
        else if (dag.isOutput[v] && !(rules.unstored_outputs ? computed : this.isBlue(v)))
          waits.push(v);
      }
      return waits;
    }

    get finished() {
      return this.overfull < 0 && this.missing().length === 0;
    }

    push(move) {
      const refusal = violation(this, move.kind, move.vertex);
      if (refusal) return refusal;
      const v = move.vertex;
      this.past.push([this.overfull, this.peakRed]);
      this.moves.push({ kind: move.kind, vertex: v });
      this.counts[move.kind] += 1;
      this.overfull = -1;
      if (move.kind === LOAD) {
        this.red.add(v);
        if (this.rules.moving_loads) this.blue.delete(v);
      } else if (move.kind === STORE) {
        this.blue.add(v);
      } else if (move.kind === COMPUTE) {
        this.red.add(v);
        this.computed.set(v, (this.computed.get(v) || 0) + 1);
        if (this.red.size > this.memory) this.overfull = v;
      } else {
        this.red.delete(v);
      }
      if (this.overfull < 0) this.peakRed = Math.max(this.peakRed, this.red.size);
      return null;
    }

    pop() {
      const move = this.moves.pop();
      if (!move) return null;
      [this.overfull, this.peakRed] = this.past.pop();
      this.counts[move.kind] -= 1;
      const v = move.vertex;
      if (move.kind === LOAD) {
        this.red.delete(v);
        if (this.rules.moving_loads) this.blue.add(v);
      } else if (move.kind === STORE) {
        this.blue.delete(v);
      } else if (move.kind === COMPUTE) {
        this.red.delete(v);
        const times = this.computed.get(v) - 1;
        if (times) this.computed.set(v, times);
        else this.computed.delete(v);
      } else {
        this.red.add(v);
      }
      return move;
    }
  }

  function brokenRule(game, kind, vertex) {
    const { dag, rules } = game;
    if (!(vertex >= 0 && vertex < dag.size)) return "vertex";
    if (
      game.overfull >= 0 &&
      !(kind === DELETE && dag.operands(game.overfull).includes(vertex))
    )
      return "sliding";
    const full = game.red.size >= game.memory;
    const red = game.isRed(vertex);
    const blue = game.isBlue(vertex);
    if (kind === LOAD) return red || !blue ? "load" : full ? "budget" : "";
    if (kind === STORE) return red && !blue ? "" : "store";
    if (kind === DELETE) return !red ? "delete" : rules.no_deletion && !blue ? "no-deletion" : "";
    if (red || (dag.isInput[vertex] && !rules.free_inputs)) return "compute";
    if (rules.one_shot && game.isComputed(vertex)) return "one-shot";
    const operands = dag.operands(vertex);
    if (!operands.every((u) => game.isRed(u))) return "compute";
    return full && !(rules.sliding && operands.length) ? "budget" : "";
  }

  function violation(game, kind, vertex) {
    const rule = brokenRule(game, kind, vertex);
    if (!rule) return null;
    let text;
    let missing = [];
    if (rule === "vertex") {
      text = `${KINDS[kind]} ${vertex}: there is no such vertex; vertices are 0 to ${game.dag.size - 1}`;
    } else {
      const [what, lacking] = reason(game, kind, vertex, rule);
      missing = lacking;
      text = `${KINDS[kind]} ${game.dag.name(vertex)} ${what}`;
    }
    const step = game.step + 1;
    text = `step ${step}: ${text} (M=${game.memory}, ${game.red.size} red)`;
    return { step, move: { kind, vertex }, rule, vertex, missing, text };
  }

  // Why a play is not over; null when it is.
  function unfinished(game) {
    const { dag, rules, step } = game;
    const missing = game.missing();
    const after = step
      ? `the play ends after ${step} moves`
      : "the play ends before its first move";
    if (game.overfull >= 0) {
      const v = game.overfull;
      const text =
        `${after} with ${game.red.size} red and M=${game.memory}: ` +
        `delete an operand of ${dag.name(v)}, one of ${listed(game, dag.operands(v))}`;
      return { step, move: null, rule: "end", vertex: v, missing: [], text };
    }
    if (!missing.length) return null;
    const v = missing[0];
    const isOutput = dag.isOutput[v];
    let lack = "not computed";
    let hint = "compute it";
    if (!rules.unstored_outputs && isOutput) {
      hint = game.isRed(v) ? "store it" : `${remedy(game, v)} and store it`;
      lack = `not blue; ${pebbles(game, v)}`;
    }
    const more = missing.length > 1 ? ` (and ${missing.length - 1} more)` : "";
    const what = isOutput ? "output" : "vertex";
    const text = `${after} with ${what} ${dag.name(v)} ${lack}: ${hint}${more}`;
    return { step, move: null, rule: "end", vertex: v, missing: missing.slice(0, 8), text };
  }

  function reason(game, kind, vertex, rule) {
    const { dag, rules } = game;
    const name = (v) => dag.name(v);
    if (rule === "sliding") {
      const v = game.overfull;
      return [
        `is too early: COMPUTE ${name(v)} made one red too many, so this step must ` +
          `delete one of its operands: ${listed(game, dag.operands(v))}`,
        [],
      ];
    }
    if (rule === "budget") return [`would make ${game.red.size + 1} red: delete one first`, []];
    if (rule === "no-deletion")
      return [
        `would lose its value, which rules ${rules.text} forbid: store it first`,
        [vertex],
      ];
    if (rule === "one-shot") {
      const hint = game.isBlue(vertex) ? "load it" : "store it before deleting it";
      return [`would compute it a second time, which rules ${rules.text} forbid: ${hint}`, []];
    }
    const red = game.isRed(vertex);
    if (kind === DELETE)
      return [`needs it red; ${pebbles(game, vertex)}: there is nothing to delete`, [vertex]];
    if (kind === STORE) {
      if (red) return ["changes nothing: it is blue already", []];
      return [`needs it red; ${pebbles(game, vertex)}: ${remedy(game, vertex)} first`, [vertex]];
    }
    if (red) return ["changes nothing: it is red already", []];
    if (kind === LOAD)
      return [`needs it blue; ${pebbles(game, vertex)}: ${remedy(game, vertex)}`, [vertex]];
    if (dag.isInput[vertex] && !rules.free_inputs)
      return [
        `is not allowed: it is an input, which cannot be computed; ${remedy(game, vertex)}`,
        [],
      ];
    const missing = dag.operands(vertex).filter((u) => !game.isRed(u));
    const hints = missing.slice(0, 3).map((u) => `${pebbles(game, u)}: ${remedy(game, u)} first`);
    if (missing.length === 1) return [`needs ${name(missing[0])} red; ${hints[0]}`, missing];
    const told = hints.map((hint, i) => `${name(missing[i])}, ${hint}`).join("; ");
    const more = missing.length > 3 ? `; and ${missing.length - 3} more` : "";
    return [`needs ${missing.length} operands red that are not: ${told}${more}`, missing];
  }

  function listed(game, vertices) {
    const names = vertices.slice(0, 8).map((v) => game.dag.name(v));
    return names.join(", ") + (vertices.length > 8 ? ", ..." : "");
  }

  function pebbles(game, v) {
    if (game.isBlue(v)) return game.isRed(v) ? "it is red and blue" : "it is blue only";
    return game.isRed(v) ? "it is red only" : "it has no pebble";
  }

  function remedy(game, v) {
    if (game.isBlue(v)) return "load it";
    const lost = "its value is lost, so store it before deleting it";
    if (game.dag.isInput[v] && !game.rules.free_inputs) return lost;
    if (game.rules.one_shot && game.isComputed(v)) return lost;
    return "compute it";
  }

  return {
    LOAD, STORE, COMPUTE, DELETE, KINDS, LETTERS,
    Dag, Game, MoveError, parseMove, writeMove, brokenRule, violation, unfinished, repr,
  };
})();
