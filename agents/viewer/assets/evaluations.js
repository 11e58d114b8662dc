// Evaluations as dots with whiskers, and success by kind of task.
function showEvaluations() {
  const all = DATA.evaluations;
  const box = by("evaluation-rows");
  if (!all.length) {
    box.append(el("p", { class: "empty" }, "This run was not evaluated (or has not got to it)."));
    return;
  }
  const at = (share) => `${(100 * share).toFixed(2)}%`;
  for (const e of all) {
    const faulted = e.faulted ? `, ${whole(e.faulted)} faulted` : "";
    box.append(el("div", { class: "evaluation", "data-stage": e.stage },
      el("div", {}, el("div", { class: "stage" }, e.stage),
        el("div", { class: "hint" }, known(e.env_steps) ? `after ${plural(e.env_steps, "env step")}` : "")),
      el("div", { class: "track", title: `${percent(e.low)} to ${percent(e.high)}` },
        el("i", { style: { left: at(e.low), width: at(e.high - e.low) } }),
        known(e.success_rate) ? el("b", { style: { left: at(e.success_rate) } }) : null),
      el("div", { class: "figures" }, el("b", {}, percent(e.success_rate)),
        el("div", { class: "hint" }, `${percent(e.low)} to ${percent(e.high)} · ${plural(e.n, "episode")}, ${short(e.mean_steps)} steps${faulted}`))));
  }
  const kinds = [...new Set(all.flatMap((e) => e.kinds.map((k) => k.kind)))].sort();
  if (!kinds.length) return;
  by("evaluation-kinds").append(el("table", {},
    el("thead", {}, el("tr", {}, el("th", {}, "kind of task"), el("th", {}, "tasks"), all.map((e) => el("th", {}, e.stage)))),
    el("tbody", {}, kinds.map((kind) => {
      const cells = all.map((e) => e.kinds.find((k) => k.kind === kind));
      return el("tr", {}, el("td", {}, words(kind)), el("td", {}, whole(Math.max(...cells.map((c) => c?.n ?? 0)))),
        cells.map((c) => el("td", { class: "rate", title: c ? `${c.won} of ${c.n}: ${percent(c.low)} to ${percent(c.high)}` : "" },
          c ? meter(c.won / c.n) : "–")));
    }))));
}

function meter(share, digits = 0) {
  return el("div", { class: "meter", style: { "--share": `${(100 * share).toFixed(1)}%` } }, el("span", {}, percent(share, digits)), el("i", {}));
}
