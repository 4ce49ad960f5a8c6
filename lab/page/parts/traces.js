// Traces as text: written as pebble/trace.py writes them, and read as forgivingly as it does.
"use strict";

const Traces = (() => {
  const TITLE = "# pebble-trace";
  const KEYS = ["workload", "fingerprint", "vertices", "memory", "rules", "strategy"];

  function write(level, dag, moves) {
    const fields = {
      workload: dag.source, fingerprint: dag.fingerprint, vertices: dag.size,
      memory: level.memory, rules: level.rules.text, strategy: "",
    };
    const head = KEYS.map((key) => `# ${key} ${fields[key]}`.trimEnd());
    const lines = moves.map(Rules.writeMove);
    return [`${TITLE} 1`, ...head, ...lines, `# end ${moves.length}`, ""].join("\n");
  }

  class TraceError extends Error {}

  function header(lines) {
    const version = lines[0].slice(TITLE.length).trim();
    if (version !== "1")
      throw new TraceError(
        `it is a trace of format version ${version || "unknown"}; this page reads version 1`
      );
    const fields = {};
    KEYS.forEach((key, i) => {
      const line = lines[i + 1] ?? "";
      const [found] = line.replace(/^# /, "").split(" ");
      if (found !== key)
        throw new TraceError(`expected the header line '# ${key} ...', got ${Rules.repr(line.slice(0, 40))}`);
      fields[key] = line.slice(key.length + 3);
    });
    return fields;
  }

  function parse(text, dag) {
    const lines = text.replace(/\r\n?/g, "\n").trim().split("\n").map((line) => line.trim());
    if (!lines.join("")) throw new TraceError("there is nothing here: paste a trace, or take out your own play");
    let start = 0;
    let fields = null;
    if (lines[0].startsWith(TITLE)) {
      fields = header(lines);
      start = KEYS.length + 1;
      if (fields.fingerprint !== dag.fingerprint || Number(fields.vertices) !== dag.size)
        throw new TraceError(
          "the trace belongs to another graph: it was played on " +
            `${fields.workload || "a graph"} (${fields.vertices} vertices, fingerprint ${fields.fingerprint}), ` +
            `and this is ${dag.source || "a graph"} (${dag.size} vertices, fingerprint ${dag.fingerprint})`
        );
    }
    const moves = [];
    let ended = false;
    lines.slice(start).forEach((line, i) => {
      const place = `line ${start + i + 1}`;
      if (ended) throw new TraceError(`${place}: nothing may follow the footer`);
      const end = line.match(/^# end (\d+)$/);
      if (end) {
        if (Number(end[1]) !== moves.length)
          throw new TraceError(`${place}: the footer counts ${end[1]} moves, but ${moves.length} came before it`);
        ended = true;
      }
      if (!line || line.startsWith("#")) return;
      try {
        moves.push(Rules.parseMove(line, dag));
      } catch (error) {
        if (!(error instanceof Rules.MoveError)) throw error;
        throw new TraceError(`${place}: ${error.message}`);
      }
    });
    if (fields && !ended)
      throw new TraceError(`it is truncated: expected the footer '# end COUNT' after ${moves.length} moves`);
    if (!moves.length) throw new TraceError("it holds no moves");
    return { fields, moves };
  }

  // The legal moves of a pasted trace, and what is to be said about it: {moves, error}.
  function read(text, level, dag, fresh) {
    let parsed;
    try {
      parsed = parse(text, dag);
    } catch (error) {
      if (!(error instanceof TraceError)) throw error;
      return { moves: [], error: `This trace cannot be read: ${error.message}.` };
    }
    const { fields, moves } = parsed;
    const game = fresh();
    const notes = [];
    if (fields && Number(fields.memory) !== level.memory)
      notes.push(`It was played with M=${fields.memory}; here M=${level.memory}.`);
    if (fields && fields.rules !== level.rules.text)
      notes.push(`It was played under the rules ${fields.rules}; here they are ${level.rules.text}.`);
    for (const move of moves) {
      const refusal = game.push(move);
      if (refusal) {
        const kept = refusal.step > 1 ? " You can watch the moves before it." : "";
        return { moves: moves.slice(0, refusal.step - 1), error: [...notes, `Not legal: ${refusal.text}.${kept}`].join(" ") };
      }
    }
    const end = Rules.unfinished(game);
    if (end) notes.push(`Legal so far, but ${end.text}.`);
    return { moves, error: notes.join(" ") };
  }

  return { write, read };
})();
