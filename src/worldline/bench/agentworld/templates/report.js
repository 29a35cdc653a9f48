"use strict";
(() => {
  const holder = document.getElementById("head");
  if (!holder) return;
  const head = JSON.parse(holder.textContent);
  const form = document.getElementById("filter");
  const list = document.getElementById("list");
  const more = document.getElementById("more");
  const detail = document.getElementById("detail");
  const STEP = 200;
  let chosen = [];
  let shown = 0;
  let current = -1;

  // Foreign text enters the page here alone, as text.
  const el = (name, text, cls) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (cls) made.className = cls;
    return made;
  };
  const add = (parent, ...children) => { parent.append(...children); return parent; };
  const number = (value) => (value === null || value === undefined ? "–" : value.toFixed(1));

  const lowest = (row) => {
    const known = row[3].map((result) => (result.length ? result[0] : null)).filter((value) => value !== null);
    return known.length ? Math.min(...known) : null;
  };
  const gap = (row) => {
    const [a, b] = row[3].map((result) => (result.length ? result[0] : null));
    return a === null || b === null || a === undefined || b === undefined ? -1 : Math.abs(a - b);
  };
  const fits = (row) => {
    const wanted = form.elements;
    if (wanted.domain.value && row[0] !== wanted.domain.value) return false;
    if (wanted.id.value && !row[1].includes(wanted.id.value)) return false;
    if (wanted.kind.value === "failed") return row[3].some((result) => result[1]);
    if (wanted.kind.value === "apart") return Object.keys(row[4]).length > 0;
    if (wanted.kind.value === "unlike") return new Set(row[3].map((result) => JSON.stringify(result))).size > 1;
    return true;
  };
  const select = () => {
    chosen = head.rows.map((row, place) => place).filter((place) => fits(head.rows[place]));
    const order = form.elements.order.value;
    const by = { low: (row) => lowest(row) ?? 101, high: (row) => -(lowest(row) ?? -1), gap: (row) => -gap(row) }[order];
    if (by) chosen.sort((a, b) => by(head.rows[a]) - by(head.rows[b]) || a - b);
    document.getElementById("count").textContent = `${chosen.length} rows`;
    list.replaceChildren();
    shown = 0;
    grow();
  };
  const grow = () => {
    for (const place of chosen.slice(shown, shown + STEP)) {
      const row = head.rows[place];
      const line = el("tr");
      line.dataset.place = place;
      line.className = place === current ? "on" : "";
      add(line, el("td", row[0]), el("td", row[1]), el("td", String(row[2]), "n"));
      for (const result of row[3]) {
        line.append(result.length ? el("td", result[1] ? `failed ${number(result[0])}` : number(result[0]), result[1] ? "n bad" : "n") : el("td", "pending", "n dim"));
      }
      list.append(line);
    }
    shown = Math.min(chosen.length, shown + STEP);
    more.hidden = shown >= chosen.length;
  };

  const block = (title, cut, open) => {
    const box = el("details");
    box.open = Boolean(open);
    const note = cut.n === undefined ? "" : ` (the first ${[...cut.t].length} of ${cut.n} characters)`;
    return add(box, el("summary", title + note), el("pre", cut.t));
  };
  const diff = (pairs) => {
    const box = el("pre", undefined, "diff");
    for (const [mark, text] of pairs) {
      if (mark === "=") {
        for (const line of text.split("\n")) box.append(el("div", `  ${line}`));
        continue;
      }
      const line = el("div", `${mark === "-" ? "−" : "+"} `, mark === "-" ? "gone" : "new");
      text.forEach((piece, place) => line.append(place % 2 ? el("mark", piece) : piece));
      if (text.join("") === "") line.append(el("span", "(empty line)", "dim"));
      box.append(line);
    }
    return box;
  };
  const judged = (one, many) => {
    const box = el("div");
    const scores = one.scores ? head.dimensions.map((name) => `${name} ${one.scores[name]}`).join(" · ") : "no scores that can be used";
    box.append(el("h4", `Judge${many ? `, judgement ${one.repeat + 1}` : ""}: ${scores}`));
    if (one.error) box.append(el("p", one.error.t, "bad"));
    for (const name of ["strengths", "weaknesses"]) {
      if (!one[name].length) continue;
      const points = el("ul");
      for (const item of one[name]) points.append(el("li", item.t));
      add(box, el("div", name, "dim"), points);
    }
    box.append(block("the judge's answer", one.answer));
    return box;
  };
  const run = (part, place, row) => {
    const box = el("div", undefined, "run");
    const result = row[3][place];
    const score = !result.length ? "pending" : result[1] ? `failed: ${result[1]} (${number(result[0])})` : number(result[0]);
    box.append(el("h3", `Run ${head.letters[place]}: ${score}`, result[1] ? "bad" : ""));
    if (!part) return add(box, el("p", "Not predicted in this run.", "dim"));
    const facts = [`outcome ${part.outcome}`];
    if (part.finish) facts.push(`finish reason ${part.finish}`);
    if (part.dropped) facts.push(`${part.dropped} history turns left out`);
    if (part.usage) facts.push(`${part.usage.prompt_tokens ?? 0} tokens in, ${part.usage.completion_tokens ?? 0} out`);
    if (part.tagged === false) facts.push("no tags: the whole answer is the prediction");
    box.append(el("p", facts.join(" · "), "dim"));
    if (part.error) box.append(el("p", part.error.t, "bad"));
    const other = row[4][place];
    if (other) box.append(el("p", `Protocol official: ${number(other[0])}. ${other.slice(1).join("; ")}`, "warn"));
    if (part.diff) {
      const legend = el("p");
      add(legend, el("span", "− only in the truth", "key gone"), el("span", "+ only in the prediction", "key new"));
      if (part.same) legend.append(el("span", "equal to the last byte", "dim"));
      add(box, el("h4", `Truth (${part.truth_n} characters) and prediction (${part.prediction_n})`), legend, diff(part.diff));
      const most = Math.max(...["-", "+"].map((mark) => part.diff.reduce((sum, [m, t]) => sum + (m === "=" ? t.length + 1 : m === mark ? t.join("").length + 1 : 0), 0)));
      if (most + 8 < Math.max(part.truth_n, part.prediction_n)) box.append(el("p", "Both texts are cut before they are compared: only their beginnings are shown.", "warn"));
    } else {
      add(box, el("p", "There is no prediction.", "bad"), block("truth", part.truth, true));
      if (part.raw.t) box.append(block("what the model wrote", part.raw, true));
    }
    for (const one of part.judged) box.append(judged(one, part.judged.length > 1));
    return box;
  };
  const show = (place) => {
    const row = head.rows[place];
    if (!row) return;
    current = place;
    const data = JSON.parse(document.getElementById(`row-${place}`).textContent);
    const parts = [el("h3", `${row[0]}, id ${row[1]}, turn ${row[2]}`)];
    if (data.row) {
      const past = el("details");
      past.append(el("summary", `history: ${data.row.first > 1 ? `turns 1 to ${data.row.first - 1} not shown, then ` : ""}${data.row.history.length} turns`));
      data.row.history.forEach(([asked, said], index) => {
        const note = (cut) => (cut.n === undefined ? "" : ` (the first ${[...cut.t].length} of ${cut.n} characters)`);
        add(past, el("h4", `turn ${data.row.first + index}${note(asked)}`), el("pre", asked.t), el("div", `observation${note(said)}`, "dim"), el("pre", said.t));
      });
      parts.push(block("system prompt", data.row.system), past, block("action", data.row.action, true));
    }
    data.runs.forEach((part, index) => parts.push(run(part, index, row)));
    detail.replaceChildren(...parts);
    for (const line of list.children) line.className = Number(line.dataset.place) === place ? "on" : "";
  };
  const follow = () => {
    const found = /^#row=(\d+)$/.exec(location.hash);
    if (!found) return;
    show(Number(found[1]));
    detail.scrollIntoView();
  };

  form.addEventListener("input", select);
  form.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", grow);
  list.addEventListener("click", (event) => {
    const line = event.target.closest("tr");
    if (line) { history.replaceState(null, "", `#row=${line.dataset.place}`); show(Number(line.dataset.place)); }
  });
  window.addEventListener("hashchange", follow);
  select();
  follow();
})();
