// The cheapest way on from any position of a small board: an A* search in slices, so that the page
// stays alive. It gives the hints, and finds the first move of a finished play that cost something.
"use strict";

const Advisor = (() => {
  const { LOAD, STORE, COMPUTE, DELETE } = Rules;
  const HALF = 30; // vertices per word of a mask
  const LARGEST = 2 * HALF;

  // Why the advisor must stay silent about a board; the empty text when it need not.
  function refusal(game) {
    const { rules, dag } = game;
    const known = ["text", "described", "one_shot"];
    const odd = Object.keys(rules).some((key) => !known.includes(key) && rules[key]);
    if (odd) return `hints are known for the rules hk and one-shot, not for ${rules.text}`;
    if (dag.size > LARGEST) return `hints are worked out for at most ${LARGEST} vertices`;
    return "";
  }

  const bit = (v) => (v < HALF ? [1 << v, 0] : [0, 1 << (v - HALF)]);
  const has = (mask, v) => (v < HALF ? mask[0] & (1 << v) : mask[1] & (1 << (v - HALF))) !== 0;
  const or = (a, b) => [a[0] | b[0], a[1] | b[1]];
  const minus = (a, b) => [a[0] & ~b[0], a[1] & ~b[1]];
  const meets = (a, b) => ((a[0] & b[0]) | (a[1] & b[1])) !== 0;
  const inside = (a, b) => ((a[0] & ~b[0]) | (a[1] & ~b[1])) === 0;
  const maskOf = (vertices) => [...vertices].reduce((mask, v) => or(mask, bit(v)), [0, 0]);

  function count(mask) {
    let n = 0;
    for (let word of mask) for (; word; word &= word - 1) n++;
    return n;
  }

  class Board {
    constructor(game) {
      const { dag } = game;
      this.dag = dag;
      this.memory = game.memory;
      this.oneShot = Boolean(game.rules.one_shot);
      this.outputs = maskOf(dag.outputs.filter((v) => !dag.isInput[v]));
      this.operands = dag.rows.map(maskOf);
      this.beyond = dag.rows.map(() => [0, 0]); // outputs above each vertex, itself excepted
      const order = topological(dag);
      for (const v of order.reverse()) {
        for (const w of dag.users[v]) {
          const up = has(this.outputs, w) ? or(this.beyond[w], bit(w)) : this.beyond[w];
          this.beyond[v] = or(this.beyond[v], up);
        }
      }
      this.small = dag.size <= 26; // then a position is one exact number
    }

    start(game) {
      return this.tidy({
        red: maskOf(game.red),
        blue: maskOf(game.blue),
        done: this.oneShot ? maskOf(game.computed.keys()) : [0, 0],
      });
    }

    open(state) {
      return minus(this.outputs, state.blue);
    }

    useful(state, open, v) {
      if (has(open, v)) return true;
      if (!meets(this.beyond[v], open)) return false;
      return !this.oneShot || this.dag.users[v].some((w) => !has(state.done, w));
    }

    // Pebbles that no unfinished output can use are forgotten: fewer positions to tell apart.
    tidy(state) {
      const open = this.open(state);
      const keep = (mask) => {
        let kept = [0, 0];
        for (let v = 0; v < this.dag.size; v++)
          if (has(mask, v) && this.useful(state, open, v)) kept = or(kept, bit(v));
        return kept;
      };
      const finished = minus(this.outputs, open);
      return { red: keep(state.red), blue: or(keep(state.blue), finished), done: state.done };
    }

    key(state) {
      const { red, blue, done } = state;
      if (this.small && !this.oneShot) return red[0] + blue[0] * 67108864;
      return `${red[0]},${red[1]},${blue[0]},${blue[1]},${done[0]},${done[1]}`;
    }

    // What must still be paid: a store per open output, a load per input that cannot be avoided.
    estimate(state) {
      const { dag } = this;
      const open = this.open(state);
      let least = count(open);
      const seen = new Uint8Array(dag.size);
      const stack = [];
      for (const v of dag.outputs) if (has(open, v) && !has(state.red, v)) stack.push(v);
      while (stack.length) {
        const v = stack.pop();
        if (seen[v] || has(state.red, v)) continue;
        seen[v] = 1;
        if (dag.isInput[v]) {
          least += 1;
        } else if (has(state.blue, v)) {
          if (this.oneShot) least += 1; // it has been computed: only a load brings it back
        } else {
          if (this.oneShot && has(state.done, v)) return Infinity;
          stack.push(...dag.operands(v));
        }
      }
      return least;
    }

    // Steps to other positions: [cost, moves, state].
    *steps(state) {
      const { dag } = this;
      const open = this.open(state);
      if (count(state.red) >= this.memory) {
        for (let v = 0; v < dag.size; v++) {
          if (!has(state.red, v)) continue;
          const red = minus(state.red, bit(v));
          if (!has(state.blue, v)) {
            const blue = or(state.blue, bit(v));
            const moves = [{ kind: STORE, vertex: v }, { kind: DELETE, vertex: v }];
            yield [1, moves, this.tidy({ ...state, red, blue })];
          }
          yield [0, [{ kind: DELETE, vertex: v }], this.tidy({ ...state, red })];
        }
        return;
      }
      for (let v = 0; v < dag.size; v++) {
        if (has(state.red, v) || !this.useful(state, open, v)) continue;
        const red = or(state.red, bit(v));
        if (has(state.blue, v)) yield [1, [{ kind: LOAD, vertex: v }], { ...state, red }];
        if (dag.isInput[v] || !inside(this.operands[v], state.red)) continue;
        if (this.oneShot && has(state.done, v)) continue;
        const done = this.oneShot ? or(state.done, bit(v)) : state.done;
        const moves = [{ kind: COMPUTE, vertex: v }];
        if (has(open, v)) {
          // An output costs one store, whenever it is made: make it at once.
          moves.push({ kind: STORE, vertex: v });
          yield [1, moves, this.tidy({ red, blue: or(state.blue, bit(v)), done })];
        } else {
          yield [0, moves, this.tidy({ red, blue: state.blue, done })];
        }
      }
    }
  }

  function topological(dag) {
    const left = dag.rows.map((row) => row.length);
    const order = left.flatMap((n, v) => (n ? [] : [v]));
    for (let i = 0; i < order.length; i++)
      for (const w of dag.users[order[i]]) if (--left[w] === 0) order.push(w);
    return order;
  }

  // Yields now and then; returns {cost, moves}, or {cost: null} when nothing up to `limit` exists
  // (gaveUp: false) or the search grew beyond `most` positions (gaveUp: true).
  function* search(game, { limit = Infinity, most = 400000 } = {}) {
    const board = new Board(game);
    const first = board.start(game);
    const known = new Map([[board.key(first), { cost: 0, state: first, from: null, moves: [] }]]);
    const queues = [];
    const put = (key, cost, state) => {
      const total = cost + board.estimate(state);
      if (total <= limit && total < Infinity) (queues[total] ??= []).push([key, cost]);
    };
    put(board.key(first), 0, first);
    let looked = 0;
    for (let total = 0; total < queues.length; total++) {
      const queue = queues[total];
      while (queue && queue.length) {
        const [key, cost] = queue.pop();
        const here = known.get(key);
        if (cost > here.cost) continue;
        if (count(board.open(here.state)) === 0)
          return { cost, moves: retrace(known, key, game), gaveUp: false };
        if (++looked % 1000 === 0) yield looked;
        if (looked > most) return { cost: null, moves: [], gaveUp: true };
        for (const [price, moves, state] of board.steps(here.state)) {
          const next = board.key(state);
          const seen = known.get(next);
          if (seen && seen.cost <= cost + price) continue;
          known.set(next, { cost: cost + price, state, from: key, moves });
          put(next, cost + price, state);
        }
      }
    }
    return { cost: null, moves: [], gaveUp: false };
  }

  // The moves on the real board, where forgotten pebbles still lie: deleted when room is needed.
  function retrace(known, key, game) {
    const steps = [];
    for (let at = known.get(key); at.from !== null; at = known.get(at.from)) steps.unshift(at);
    const red = new Set(game.red);
    const blue = new Set(game.blue);
    const out = [];
    const make = (kind, vertex) => {
      if (kind === LOAD || kind === COMPUTE) red.add(vertex);
      else if (kind === STORE) blue.add(vertex);
      else red.delete(vertex);
      out.push({ kind, vertex });
    };
    for (const step of steps) {
      const before = known.get(step.from).state.red;
      for (const { kind, vertex } of step.moves) {
        if ((kind === LOAD || kind === COMPUTE) && red.has(vertex)) continue;
        if (kind === STORE && blue.has(vertex)) continue;
        if ((kind === LOAD || kind === COMPUTE) && red.size >= game.memory) {
          const idle = [...red].find((v) => !has(before, v));
          make(DELETE, idle);
        }
        make(kind, vertex);
      }
    }
    return out;
  }

  // Runs a search to its end at once: for scripts and tests.
  function solve(game, options) {
    const run = search(game, options);
    for (;;) {
      const { done, value } = run.next();
      if (done) return value;
    }
  }

  // Runs a search in slices; `alive()` false abandons it.
  async function ask(game, options, alive = () => true) {
    const run = search(game, options);
    let since = performance.now();
    for (;;) {
      const { done, value } = run.next();
      if (done) return value;
      if (performance.now() - since > 40) {
        await new Promise((resume) => setTimeout(resume));
        if (!alive()) return null;
        since = performance.now();
      }
    }
  }

  // The first move of a play after which `par` can no longer be met: {step, exact}; null if none.
  // Spent plus cheapest rest never falls along a play, so that halving finds the place.
  async function firstCostly(moves, fresh, par, alive = () => true) {
    const met = async (steps) => {
      const game = fresh();
      for (const move of moves.slice(0, steps)) game.push(move);
      const found = await ask(game, { limit: par - game.io }, alive);
      return found === null || found.gaveUp ? null : found.cost !== null;
    };
    let [good, bad] = [0, moves.length];
    while (bad - good > 1) {
      const middle = (good + bad) >> 1;
      const verdict = await met(middle);
      if (verdict === null) return { step: bad, from: good + 1, exact: false };
      if (verdict) good = middle;
      else bad = middle;
    }
    return { step: bad, from: bad, exact: true };
  }

  return { refusal, solve, ask, firstCostly };
})();
