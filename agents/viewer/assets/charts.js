// Learning curves: panels of small charts over one x axis, with one crosshair through all charts of a panel.
// A panel: { columns, evaluations, x, smooth, hover }.
const IMITATION_CHARTS = [
  { title: "Actions", from: 0, series: [["loss/action", "loss a token"]] },
  { title: "State prediction", from: 0, series: [["loss/state_prediction", "loss a token"]] },
  { title: "Inverse dynamics", from: 0, series: [["loss/inverse_dynamics", "loss a token"]] },
];
const CHARTS = [
  { title: "Success", percent: true, range: [0, 1], evaluations: true,
    series: [["train/success_rate", "training"], ["eval/success_rate", "held out"]] },
  { title: "Return", series: [["train/return", "mean"]] },
  { title: "Policy loss", series: [["loss/policy", "a decision"]] },
  { title: "State prediction", from: 0, series: [["loss/state_prediction", "loss a token"]] },
  { title: "Inverse dynamics", from: 0, series: [["loss/inverse_dynamics", "loss a token"]] },
  { title: "Weight of the objectives", from: 0, series: [["aux/lambda", "λ"], ["aux/weight", "after the cap"]] },
  { title: "Entropy of a decision", from: 0, series: [["policy/entropy", "nats"]] },
  { title: "Clipped decisions", percent: true, from: 0, series: [["policy/clipped", "of decisions"]] },
  { title: "Faulted episodes", from: 0, series: [["rollout/faulted", "faulted"]] },
  { title: "Steps an episode", from: 0, series: [["episode/steps", "mean"]] },
  { title: "Gradient norms", from: 0, series: [["grad/policy", "policy"], ["grad/objectives", "objectives"]] },
  { title: "Divergence from the reference", from: 0, optional: true, series: [["loss/kl", "k3"]] },
  { title: "Invalid actions", percent: true, from: 0, optional: true, series: [["policy/invalid_rate", "of steps"]] },
  { title: "Critic", from: 0, optional: true, series: [["loss/value", "loss a state"]] },
  { title: "Groups drawn anew", from: 0, optional: true, series: [["rollout/redrawn", "groups"]] },
  { title: "Seconds an update", from: 0, series: [["time/rollout_s", "rollout"], ["time/update_s", "update"]] },
];
const AXES = [["update", "updates"], ["env_steps", "env steps"], ["wall_s", "time"]];

function chartsToDraw(charts, { columns, evaluations }) {
  const has = (key) => key in columns;
  const used = new Set([...AXES.map(([key]) => key), ...charts.flatMap((chart) => chart.series.map(([key]) => key))]);
  const drawn = charts.map((chart) => ({ ...chart, series: chart.series.filter(([key]) => has(key)) }))
    .filter((chart) => chart.series.length || (chart.evaluations && evaluations.length))
    .filter((chart) => !chart.optional || chart.series.some(([key]) => columns[key].some(Boolean)));
  const others = Object.keys(columns).filter((key) => !used.has(key) && columns[key].some(Boolean));
  return [...drawn, ...others.map((key) => ({ title: words(key).replaceAll("/", " · "), series: [[key, "value"]] }))];
}

// Moving mean over a twentieth of the run, centred; gaps stay gaps.
function smoothed(values) {
  const half = Math.floor(Math.max(values.length / 20, 2) / 2);
  return values.map((value, i) => {
    if (!known(value)) return null;
    const around = values.slice(Math.max(0, i - half), i + half + 1).filter(known);
    return around.reduce((a, b) => a + b, 0) / around.length;
  });
}

function niceTicks(low, high, count) {
  const raw = (high - low) / count || 1;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * size).find((candidate) => candidate >= raw * 0.999);
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-9; tick += step) ticks.push(+tick.toPrecision(12));
  return ticks;
}

// Where an evaluation stands on the x axis: after the updates that came before it.
function placeOf(evaluation, { columns, x }) {
  if (x !== "update") return evaluation[x];
  const steps = columns.env_steps ?? [];
  const before = steps.filter((value) => value <= evaluation.env_steps).length;
  return before ? columns.update[before - 1] : 0;
}

function drawChart(chart, figure, panel) {
  const box = figure.querySelector("svg");
  const width = box.clientWidth || 300, height = box.clientHeight || 150;
  const edge = { left: 40, right: 10, top: 8, bottom: 20 };
  const xs = panel.columns[panel.x] ?? [];
  const points = chart.evaluations ? panel.evaluations.filter((e) => known(e.env_steps) && known(e.success_rate)) : [];
  const lines = chart.series.map(([key]) => panel.columns[key]);
  const all = [...lines.flat(), ...points.flatMap((e) => [e.low, e.high])].filter(known);
  let [low, high] = chart.range ?? [Math.min(...all), Math.max(...all)];
  if (!chart.range) {
    if (known(chart.from)) low = Math.min(chart.from, low);
    if (low === high) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
    else if (!known(chart.from) || low < chart.from) low -= (high - low) * 0.06;
    high += (high - low) * 0.06;
  }
  const places = [...xs, ...points.map((e) => placeOf(e, panel))].filter(known);
  const left = Math.min(...places, panel.x === "update" && points.length ? 0 : Infinity), right = Math.max(...places);
  const xOf = (x) => edge.left + ((width - edge.left - edge.right) * (x - left)) / (right - left || 1);
  const yOf = (y) => height - edge.bottom - ((height - edge.top - edge.bottom) * (y - low)) / (high - low);

  box.setAttribute("viewBox", `0 0 ${width} ${height}`);
  box.replaceChildren();
  for (const tick of niceTicks(low, high, 4)) {
    box.append(
      svg("path", { class: "grid", d: `M${edge.left} ${yOf(tick)}H${width - edge.right}` }),
      svg("text", { x: edge.left - 6, y: yOf(tick) + 4, "text-anchor": "end" }, chart.percent ? `${+(100 * tick).toPrecision(3)}%` : short(tick)));
  }
  for (const tick of niceTicks(left, right, Math.max(2, Math.floor(width / 90))))
    box.append(svg("text", { x: xOf(tick), y: height - 5, "text-anchor": "middle" }, panel.x === "wall_s" ? duration(tick) : short(tick)));

  chart.series.forEach(([key, label], number) => {
    const values = panel.columns[key];
    const seen = values.filter(known).length;
    const sparse = seen < values.length / 2 || seen < 3;
    const group = svg("g", { class: `s${number % 3}`, "data-series": key });
    const path = (data, more) => {
      let d = "", pen = "M";
      data.forEach((value, i) => {
        if (!known(value) || !known(xs[i])) { if (!sparse) pen = "M"; return; }
        d += `${pen}${xOf(xs[i]).toFixed(1)} ${yOf(value).toFixed(1)}`;
        pen = "L";
      });
      if (d) group.append(svg("path", { class: `line${more}`, d }));
    };
    if (sparse) {
      path(values, " raw");
      values.forEach((value, i) => known(value) && group.append(svg("circle", { class: "dot", cx: xOf(xs[i]), cy: yOf(value), r: 3 })));
    } else if (panel.smooth && values.length > 8) {
      path(values, " raw");
      path(smoothed(values), "");
    } else path(values, "");
    box.append(group);
  });
  for (const evaluation of points) {
    const x = xOf(placeOf(evaluation, panel));
    box.append(svg("g", { class: "s1" },
      svg("title", {}, `${evaluation.stage}: ${percent(evaluation.success_rate)} (${percent(evaluation.low)} to ${percent(evaluation.high)})`),
      svg("path", { class: "whisker", d: `M${x} ${yOf(evaluation.low)}V${yOf(evaluation.high)}` }),
      svg("circle", { class: "dot", cx: x, cy: yOf(evaluation.success_rate), r: 4 })));
  }
  const cross = svg("path", { class: "cross", visibility: "hidden" });
  const marks = chart.series.map((_, number) => svg("circle", { class: `dot s${number % 3}`, r: 3.5, visibility: "hidden" }));
  box.append(cross, ...marks);

  figure.hover = (index) => {
    chart.series.forEach(([key], number) => {
      const values = panel.columns[key];
      let at = index ?? values.length - 1;
      if (index === null) while (at > 0 && !known(values[at])) at--;
      const value = values[at];
      figure.querySelectorAll("output")[number].textContent = chart.percent ? percent(value) : short(value);
      const shown = index !== null && known(value);
      marks[number].setAttribute("visibility", shown ? "visible" : "hidden");
      if (shown) { marks[number].setAttribute("cx", xOf(xs[at])); marks[number].setAttribute("cy", yOf(value)); }
    });
    cross.setAttribute("visibility", index === null ? "hidden" : "visible");
    if (index !== null) cross.setAttribute("d", `M${xOf(xs[index])} ${edge.top}V${height - edge.bottom}`);
  };
  figure.nearest = (event) => {
    const x = event.clientX - box.getBoundingClientRect().left;
    let best = 0;
    xs.forEach((value, i) => { if (Math.abs(xOf(value) - x) < Math.abs(xOf(xs[best]) - x)) best = i; });
    return xs.length ? best : null;
  };
}

function showCharts() {
  const rows = (DATA.metrics.update ?? []).length;
  if (rows || DATA.evaluations.some((e) => known(e.env_steps)))
    showPanel("curves", CHARTS, { columns: DATA.metrics, evaluations: DATA.evaluations });
  else {
    by("curves").querySelector(".charts").append(el("p", { class: "empty" }, "No updates yet: metrics.jsonl has no row."));
    by("curves").querySelector(".controls").hidden = true;
  }
  if ("update" in DATA.imitation) showPanel("imitation", IMITATION_CHARTS, { columns: DATA.imitation, evaluations: [] });
  else by("imitation").hidden = true;
}

function showPanel(id, charts, data) {
  const section = by(id), box = section.querySelector(".charts");
  const panel = { ...data, x: "update", smooth: true, hover: null };
  const { columns, evaluations } = panel;
  const rows = (columns.update ?? []).length;
  const figures = chartsToDraw(charts, panel).map((chart) => {
    const picture = svg("svg", { tabindex: 0, role: "img", "aria-label": `${chart.title}: curve` });
    const last = evaluations.filter((e) => known(e.env_steps)).at(-1);
    const dots = chart.evaluations && last && !chart.series.some(([key]) => key.startsWith("eval/"));
    const figure = el("figure", { class: "chart" },
      el("figcaption", {}, el("b", {}, chart.title),
        chart.series.map(([, label], number) => el("span", { class: `value s${number % 3}` }, label, " ", el("output", {}))),
        dots ? el("span", { class: "value s1" }, "held out ", el("output", {}, percent(last.success_rate))) : null),
      picture);
    figure.draw = () => { drawChart(chart, figure, panel); figure.hover(panel.hover); };
    picture.addEventListener("pointermove", (event) => hoverAt(figure.nearest(event)));
    picture.addEventListener("pointerleave", () => hoverAt(null));
    picture.addEventListener("blur", () => hoverAt(null));
    picture.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!move || !rows) return;
      event.preventDefault();
      hoverAt(Math.min(rows - 1, Math.max(0, (panel.hover ?? rows - (move > 0 ? 2 : 0)) + move)));
    });
    return figure;
  });
  function hoverAt(index) {
    panel.hover = index;
    for (const figure of figures) figure.hover(index);
    section.dataset.hover = index === null ? "" : columns.update[index];
  }
  const drawAll = () => figures.forEach((figure) => figure.draw());
  box.append(...figures);
  segments(section.querySelector(".segments"), AXES.filter(([key]) => key in columns), panel.x, (x) => { panel.x = x; drawAll(); });
  section.querySelector(".check input").addEventListener("change", (event) => { panel.smooth = event.target.checked; drawAll(); });
  new ResizeObserver(drawAll).observe(box);
}
