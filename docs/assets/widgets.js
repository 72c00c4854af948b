// The editable examples. An engine takes texts as they were typed and gives what is shown, or what
// is refused: { summary, tables } or { error, fields }. Tests hold each engine to the Python code.
const TextToBatches = (() => {
  "use strict";

  const CAP = 16; // rows of a table, and ids of a cell, that are shown

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

  function checkSize(field, number) {
    if (number < 1) refuse(`${field} must be at least 1, got ${number}`, field);
  }

  const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
  const ceiling = (top, bottom, result) => `⌈${top} / ${grouped(bottom)}⌉ = ${grouped(result)}`;
  const range = (first, last) => {
    if (first > last) return "none";
    return first === last ? grouped(first) : `${grouped(first)} … ${grouped(last)}`;
  };

  function listed(ids) {
    const shown = ids.slice(0, CAP).join(", ");
    return ids.length > CAP ? `${shown}, … and ${grouped(ids.length - CAP)} more` : shown;
  }

  function table(caption, headings, count, row) {
    const rows = Array.from({ length: Math.min(count, CAP) }, (_, index) => row(index));
    return { caption, headings, rows, more: count - rows.length };
  }

  function windows(idsText, seqLenText, strideText) {
    const ids = idsText.split(/[\s,]+/).filter(Boolean).map((id) => size("ids", id, "each id"));
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

  const engine = (compute) => (...texts) => {
    try {
      return compute(...texts);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { error: error.message, fields: error.fields };
    }
  };

  return { windows: engine(windows), cut: engine(cut), batches: engine(batches) };
})();

// The page: when a field changes, its widget is shown anew.
if (typeof document !== "undefined") {
  const element = (name, attributes, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };

  const heading = (scope, text) => element("th", { scope }, text);

  const drawn = ({ caption, headings, rows, more }) => {
    const lines = rows.map(([first, ...others]) =>
      element(
        "tr",
        {},
        heading("row", first),
        ...others.map((text) => element("td", {}, text)),
      ),
    );
    if (more) {
      const text = `… and ${more.toLocaleString("en-US")} more`;
      lines.push(element("tr", {}, element("td", { colSpan: headings.length }, text)));
    }
    const head = element("tr", {}, ...headings.map((text) => heading("col", text)));
    return element(
      "table",
      { className: "widget-table" },
      element("caption", {}, caption),
      element("thead", {}, head),
      element("tbody", {}, ...lines),
    );
  };

  const show = (widget) => {
    const fields = [...widget.querySelectorAll("input")];
    const typed = fields.map((field) => field.value);
    const { summary = "", tables, error = "", fields: invalid = [] } =
      TextToBatches[widget.dataset.widget](...typed);
    for (const field of fields) {
      field.setAttribute("aria-invalid", String(invalid.includes(field.name)));
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
