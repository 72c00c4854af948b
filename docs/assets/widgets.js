// The editable examples. An engine takes texts as they were typed and gives what is shown, or what
// is refused: { summary, tables } or { error, fields }. Tests hold each engine to the Python code.
const TextToBatches = (() => {
  "use strict";

  const CAP = 16; // rows of a table, and ids of a cell, that are shown
  const PLACES = 32; // places of a row, and targets, that are shown

  class Refusal extends Error {
    constructor(message, fields) {
      super(message);
      this.fields = fields;
    }
  }

  const refuse = (message, ...fields) => {
    throw new Refusal(message, fields);
  };

  function whole(field, text, word = field) {
    const typed = text.trim();
    if (!/^[+-]?\d{1,15}$/.test(typed)) {
      refuse(
        `${word} must be a whole number of at most 15 digits, got ${typed || "nothing"}`,
        field,
      );
    }
    return Number(typed);
  }

  function size(field, text, word = field) {
    const number = whole(field, text, word);
    if (number < 0) refuse(`${word} must be 0 or more, got ${number}`, field);
    return number;
  }

  const powerOfTen = (exponent) => 10n ** BigInt(Math.max(0, exponent)); // 1 for a negative one

  // The fraction top / bottom that a decimal stands for: 0.3 is 3 / 10, with nothing rounded.
  function decimal(field, text) {
    const typed = text.trim();
    const parts = /^([+-]?)(?=\.?\d)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3}))?$/.exec(typed);
    if (!parts) {
      refuse(
        `${field} must be a decimal with a point, such as 0.3, got ${typed || "nothing"}`,
        field,
      );
    }
    const [, sign, before, after, power] = parts;
    const exponent = Number(power || 0) - after.length;
    const top = BigInt(sign + before + after) * powerOfTen(exponent);
    return { typed, top, bottom: powerOfTen(-exponent) };
  }

  function checkSize(field, number, word = field) {
    if (number < 1) refuse(`${word} must be at least 1, got ${number}`, field);
  }

  const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

  function checkMost(field, number, most, word = field) {
    if (number <= most) return;
    refuse(`${word} must be at most ${grouped(most)} here, got ${grouped(number)}`, field);
  }

  const ceiling = (top, bottom, result) => `⌈${top} / ${grouped(bottom)}⌉ = ${grouped(result)}`;
  const range = (first, last) => {
    if (first > last) return "none";
    return first === last ? grouped(first) : `${grouped(first)} … ${grouped(last)}`;
  };

  function listed(ids) {
    const shown = ids.slice(0, CAP).join(", ");
    return ids.length > CAP ? `${shown}, … and ${grouped(ids.length - CAP)} more` : shown;
  }

  const upTo = (count) => [...Array(count).keys()];

  function table(caption, headings, count, row, tone, feet = []) {
    const shown = upTo(Math.min(count, CAP));
    const tones = tone ? shown.map(tone) : [];
    return { caption, headings, rows: shown.map(row), more: count - shown.length, tones, feet };
  }

  const split = (text) => text.split(/[\s,]+/).filter(Boolean);
  const first = (count, what) =>
    count > PLACES ? ` (the first ${PLACES} of ${grouped(count)} ${what})` : "";

  function windows(idsText, seqLenText, strideText) {
    const ids = split(idsText).map((id) => size("ids", id, "each id"));
    const T = whole("seq_len", seqLenText);
    const k = whole("stride", strideText);
    checkSize("stride", k);
    checkSize("seq_len", T);
    const N = ids.length;
    if (N <= T) {
      refuse(
        `one window of seq_len ${T} needs ${T + 1} ids, the stream has ${N}`,
        "ids",
        "seq_len",
      );
    }
    const W = Math.ceil((N - T) / k);
    const row = (window) => {
      const s = window * k;
      return [grouped(s), listed(ids.slice(s, s + T)), listed(ids.slice(s + 1, s + T + 1))];
    };
    return {
      summary: `N = ${grouped(N)}, W = ${ceiling(`(${grouped(N)} − ${grouped(T)})`, k, W)}`,
      tables: [table("Windows, one a row", ["Start", "Inputs", "Targets"], W, row)],
    };
  }

  function cut(nText, valFractionText, seqLenText) {
    const N = size("N", nText);
    const rho = decimal("val_fraction", valFractionText);
    const T = whole("seq_len", seqLenText);
    if (rho.top < 0n || rho.top >= rho.bottom) {
      refuse(`val_fraction must be at least 0 and below 1, got ${rho.typed}`, "val_fraction");
    }
    checkSize("seq_len", T);
    const at = Number(((rho.bottom - rho.top) * BigInt(N)) / rho.bottom);
    const count = (n) => Math.max(0, n - T);
    const [train, val, all] = [count(at), count(N - at), count(N)];
    const crossing = all - train - val; // they start where the training windows end
    const sides = [
      ["training", range(0, at - 1), grouped(at), grouped(train)],
      ["validation", range(at, N - 1), grouped(N - at), grouped(val)],
    ];
    const row = (index) => {
      const s = train + index;
      return [grouped(s), range(s, at - 1), range(at, s + T)];
    };
    const tables = [
      table(
        "Cut first, then windowed at stride 1",
        ["Side", "Positions", "Ids", "Windows"],
        sides.length,
        (index) => sides[index],
      ),
      table(
        "Windows that would cross the cut",
        ["Start", "Training positions", "Validation positions"],
        crossing,
        row,
      ),
    ];
    return {
      summary:
        `cut = ⌊(1 − ${rho.typed}) × ${grouped(N)}⌋ = ${grouped(at)}. ` +
        `Windows: ${grouped(train)} + ${grouped(val)} = ${grouped(train + val)}. ` +
        `Windowed first: ${grouped(all)}, of which ${grouped(crossing)} would cross the cut.` +
        (train && val ? "" : " train.py refuses this cut: a side has no window."),
      tables: tables.filter(({ rows }) => rows.length),
    };
  }

  function batches(nWindowsText, batchSizeText) {
    const W = size("n_windows", nWindowsText);
    const B = whole("batch_size", batchSizeText);
    checkSize("batch_size", B);
    const count = Math.ceil(W / B);
    const row = (batch) => {
      const [first, stop] = [batch * B, Math.min((batch + 1) * B, W)];
      return [grouped(batch), range(first, stop - 1), grouped(stop - first)];
    };
    const headings = ["Batch", "Places in the order", "Windows"];
    return {
      summary:
        `Batches per epoch: ${ceiling(grouped(W), B, count)}.` +
        (count ? ` Windows in the last one: ${grouped(W - (count - 1) * B)}.` : ""),
      tables: count ? [table("Batches of one epoch", headings, count, row)] : [],
    };
  }

  // The rows of packing.place: rows of equal space wait in groups, as they do there.
  function bestFit(parts, size) {
    const length = (part) => parts[part].length;
    const waiting = upTo(parts.length).sort((a, b) => length(b) - length(a));
    const opened = [];
    const alike = {}; // space → groups of rows
    const keep = (space, rows) => {
      if (rows.length) (alike[space] ??= []).push(rows);
    };
    for (const _ of parts) { // each round places one part or more
      if (!waiting.length) break;
      const needed = length(waiting[0]);
      const left = waiting.filter((part) => length(part) === needed).length;
      const spaces = Object.keys(alike).filter((at) => at >= needed && alike[at].length);
      if (!spaces.length) {
        const fresh = Array.from({ length: Math.ceil(left / Math.floor(size / needed)) }, () => []);
        opened.push(...fresh);
        keep(size, fresh);
        spaces.push(size);
      }
      const space = Math.min(...spaces);
      const rows = alike[space].pop();
      const each = Math.min(left, Math.floor(space / needed));
      const taking = rows.splice(0, Math.floor(left / each));
      for (const row of taking) row.push(...waiting.splice(0, each));
      keep(space - each * needed, taking);
      keep(space, rows);
    }
    for (const row of opened) row.sort((a, b) => a - b);
    opened.sort(([a], [b]) => a - b);
    return opened.map((row) => row.flatMap((part) => parts[part]));
  }

  function packing(lengthsText, seqLenText, order, longDoc, tail) {
    const lengths = split(lengthsText).map((text) => {
      const length = whole("lengths", text, "each length");
      checkSize("lengths", length, "each length");
      return length;
    });
    const T = whole("seq_len", seqLenText);
    const read = lengths.reduce((sum, length) => sum + length, 0);
    checkMost("lengths", lengths.length, 26, "the number of lengths");
    checkMost("lengths", read, 1000, "the sum of the lengths");
    checkSize("seq_len", T);
    const size = T + 1;
    if (order === "best-fit" && tail === "drop") {
      refuse(
        "tail='drop' leaves out the last row of order='sequential', the only one with padding; " +
          "by best-fit any row may have some, so use tail='pad'",
        "order",
        "tail",
      );
    }
    if (!read) refuse("there are no documents to pack; the stream has no spans", "lengths");
    const pieces = (tokens) =>
      upTo(Math.ceil(tokens.length / size)).map((at) => tokens.slice(at * size, (at + 1) * size));
    let documents = lengths.map((length, doc) => upTo(length).map((token) => [doc, token]));
    if (longDoc === "truncate") documents = documents.map((tokens) => tokens.slice(0, size));
    if (longDoc === "drop") documents = documents.filter((tokens) => tokens.length <= size);
    if (!documents.length) {
      refuse(
        `every document is longer than a row of seq_len + 1 = ${size} ids, and long_doc='drop' ` +
          `leaves none; use 'fragment', or seq_len ${Math.min(...lengths) - 1} or more`,
        "lengths",
        "seq_len",
        "long_doc",
      );
    }
    const laid = documents.flat();
    let rows = order === "best-fit" ? bestFit(documents.flatMap(pieces), size) : pieces(laid);
    if (tail === "drop") rows = rows.filter((row) => row.length === size);
    if (!rows.length) {
      refuse(
        `${laid.length} tokens do not fill one row of seq_len + 1 = ${size} ids, and ` +
          "tail='drop' leaves none; use tail='pad', or a smaller seq_len",
        "lengths",
        "seq_len",
        "tail",
      );
    }
    const tokens = rows.flat().length;
    const places = rows.length * size;
    const shown = upTo(Math.min(size, PLACES));
    const name = (held) => (held ? String.fromCharCode(65 + held[0]) + held[1] : "pad");
    const tone = (held) => (held ? (held[0] % 6) + 1 : 0);
    const least = ceiling(grouped(tokens), size, Math.ceil(tokens / size));
    return {
      summary:
        `Rows: ${rows.length}, at least ${least}. ` +
        `Fill: ${grouped(tokens)} / ${grouped(places)} = ${(tokens / places).toFixed(4)}. ` +
        `Padding: ${grouped(places - tokens)}. Dropped: ${grouped(read - tokens)}.`,
      tables: [
        table(
          `Document and token, by place${first(size, "places")}`,
          ["Row", ...shown.map(String)],
          rows.length,
          (row) => [String(row), ...shown.map((at) => name(rows[row][at]))],
          (row) => shown.map((at) => tone(rows[row][at])),
        ),
      ],
    };
  }

  function evaluation(nText, seqLenText, strideText) {
    const N = whole("N", nText);
    const T = whole("seq_len", seqLenText);
    const s = whole("stride", strideText);
    checkMost("N", N, 100000);
    checkSize("seq_len", T);
    checkSize("stride", s);
    if (s > T) {
      refuse(
        `stride ${s} is larger than seq_len ${T} and leaves targets unscored; use 1 … ${T}`,
        "seq_len",
        "stride",
      );
    }
    if (N < 2) refuse(`a stream needs at least 2 ids to score a target, got ${N}`, "N");
    const length = Math.min(T, N - 1);
    const last = N - 1 - length;
    const windows = upTo(Math.ceil(last / s) + 1).map((w) => {
      const start = Math.min(w * s, last);
      return { start, lossFrom: w && (w - 1) * s + length - start };
    });
    const W = windows.length;
    const contexts = windows.reduce(
      (sum, { lossFrom }) => sum + ((length - lossFrom) * (length + lossFrom + 1)) / 2,
      0,
    );
    const targets = upTo(Math.min(N, PLACES + 1)).slice(1);
    const within = (from, window, target) =>
      target > window.start + from && target <= window.start + length;
    const predicts = (window, target) => within(0, window, target);
    const counts = (window, target) => within(window.lossFrom, window, target);
    const cell = (window, target) => {
      if (!predicts(window, target)) return "";
      const context = String(target - window.start);
      return counts(window, target) ? context : `(${context})`;
    };
    const foot = (word, holds) => {
      const times = (target) => windows.filter((window) => holds(window, target)).length;
      return [word, "", ...targets.map((target) => String(times(target)))];
    };
    return {
      summary:
        `W = ⌈(${grouped(N)} − 1 − ${grouped(length)}) / ${grouped(s)}⌉ + 1 = ` +
        `${grouped(W)}. ` +
        `Passes: ${grouped(W)} × ${grouped(length)} / ${grouped(N - 1)} = ` +
        `${((W * length) / (N - 1)).toFixed(4)}. ` +
        `Mean context: ${(contexts / (N - 1)).toFixed(4)}.`,
      tables: [
        table(
          `Context of each target; (not counted)${first(N - 1, "targets")}`,
          ["Start", "loss_from", ...targets.map(String)],
          W,
          (w) => {
            const { start, lossFrom } = windows[w];
            const cells = targets.map((target) => cell(windows[w], target));
            return [grouped(start), grouped(lossFrom), ...cells];
          },
          (w) => [0, ...targets.map((target) => Number(counts(windows[w], target)))],
          [foot("predicted", predicts), foot("counted", counts)],
        ),
      ],
    };
  }

  const engine = (compute) => (...texts) => {
    try {
      return compute(...texts);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { error: error.message, fields: error.fields };
    }
  };

  const compute = { windows, cut, batches, packing, evaluation };
  return Object.fromEntries(Object.entries(compute).map(([name, made]) => [name, engine(made)]));
})();

// The page: when a field changes, its widget is shown anew.
if (typeof document !== "undefined") {
  const element = (name, attributes, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };

  const heading = (scope, text) => element("th", { scope }, text);

  const line = ([first, ...others], tones = []) => {
    const cell = (text, at) =>
      element("td", tones[at] ? { className: `t${tones[at]}` } : {}, text);
    return element("tr", {}, heading("row", first), ...others.map(cell));
  };

  const drawn = ({ caption, headings, rows, more, tones, feet }) => {
    const lines = rows.map((row, at) => line(row, tones[at]));
    if (more) {
      const text = `… and ${more.toLocaleString("en-US")} more`;
      lines.push(element("tr", {}, element("td", { colSpan: headings.length }, text)));
    }
    lines.push(...feet.map((row) => line(row)));
    const head = element("tr", {}, ...headings.map((text) => heading("col", text)));
    return element(
      "table",
      { className: "widget-table", ...(tones.length && { tabIndex: 0 }) },
      element("caption", {}, caption),
      element("thead", {}, head),
      element("tbody", {}, ...lines),
    );
  };

  const show = (widget) => {
    const fields = [...widget.querySelectorAll("input, select")];
    const typed = fields.map((field) => field.value);
    const { summary = "", tables, error = "", fields: invalid = [] } =
      TextToBatches[widget.dataset.widget](...typed);
    for (const field of fields) {
      if (invalid.includes(field.name)) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
    widget.querySelector("[role=alert]").textContent = error;
    widget.querySelector("[role=status]").textContent = summary;
    const result = widget.querySelector(".widget-result");
    result.classList.toggle("widget-void", Boolean(error)); // hidden, but it keeps its place
    if (tables) result.replaceChildren(...tables.map(drawn));
    for (const stored of widget.querySelectorAll("[data-only]")) {
      stored.hidden = stored.dataset.only !== typed.map((text) => text.trim()).join(" ");
    }
  };

  document.addEventListener("input", ({ target }) => {
    const widget = target.closest("[data-widget]");
    if (widget) show(widget);
  });
}
