// SPDX-License-Identifier: Apache-2.0
//
// The charts of a report, drawn from the numbers that stand beside each of them in the page
// (engine/report/report_charts.h). Nothing is fetched, and without this the tables have it all.
"use strict";
(() => {
  const slots = 10;
  const shapes = ["circle", "square", "up", "down", "diamond", "diamond open", "circle open", "square open", "cross",
    "plus"];
  const dashOfSlot = [0, 1, 3, 2, 0, 1, 0, 4, 3, 2];  // two windows of an implementation: one is solid
  const radius = 4.5, near = 40, least = 1e-300;

  const shapeOf = (slot) => shapes[(slot + 3 * Math.floor(slot / slots)) % slots];
  const styleOf = (series) => `s${series.slot % slots}`;
  const dashOf = (slot) => (dashOfSlot[slot % slots] + Math.floor(slot / slots)) % 5;

  /// The way around a marker's shape.
  function outline(shape, x, y) {
    const r = radius, h = r * 0.886;
    const joined = (corners) => corners.map(([a, b], i) => `${i ? "L" : "M"}${x + a * r} ${y + b * r}`).join("") + "Z";
    switch (shape.split(" ")[0]) {
      case "square": return joined([[-0.886, -0.886], [0.886, -0.886], [0.886, 0.886], [-0.886, 0.886]]);
      case "up": return joined([[0, -1.2], [1.1, 0.8], [-1.1, 0.8]]);
      case "down": return joined([[0, 1.2], [1.1, -0.8], [-1.1, -0.8]]);
      case "diamond": return joined([[0, -1.2], [1.1, 0], [0, 1.2], [-1.1, 0]]);
      case "cross": return `M${x - h} ${y - h}L${x + h} ${y + h}M${x - h} ${y + h}L${x + h} ${y - h}`;
      case "plus": return `M${x - r} ${y}L${x + r} ${y}M${x} ${y - r}L${x} ${y + r}`;
      default: return `M${x - r} ${y}A${r} ${r} 0 1 1 ${x + r} ${y}A${r} ${r} 0 1 1 ${x - r} ${y}Z`;
    }
  }

  /// Values onto a line of pixels, straight or in logarithms.
  function scale(low, high, log, from, to) {
    const f = log ? (v) => Math.log(Math.max(v, least)) : (v) => v;
    const a = f(low), width = f(high) - a || 1;
    return (v) => from + (f(v) - a) / width * (to - from);
  }

  /// Round values between two, about so many.
  function ticks(low, high, log, most) {
    const found = [];
    const decades = log ? Math.log10(high / low) : 0;
    if (decades > 1.2) {
      const every = Math.max(1, Math.ceil(decades / most));
      const steps = decades * 3 <= most + 1 ? [1, 2, 5] : [1];
      for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); ++k)
        for (const step of steps) if (k % every === 0) found.push(step * 10 ** k);
    } else {
      const rough = (high - low) / Math.max(most, 2);
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = power * [1, 2, 5, 10].find((n) => n * power >= rough);
      for (let i = Math.ceil(low / step); i * step <= high; ++i) found.push(i * step);
    }
    return found.filter((v) => v >= low && v <= high).map((v) => Number(v.toPrecision(10)));
  }

  const numberText = (v) => String(Number(v.toPrecision(4)));
  const widthOf = (text) => 7.2 * text.length;

  function chart(figure) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const svg = figure.querySelector("svg.plot");
    const state = {axis: 0, setting: 0, view: "", hidden: new Set(), logs: {}, at: -1};
    let hits = [], width = 0, height = 0;

    function html(name, parent, text, properties = {}) {
      const element = Object.assign(document.createElement(name), properties);
      if (text !== undefined) element.textContent = text;
      if (parent) parent.append(element);
      return element;
    }
    function draw(name, parent, attributes, text) {
      const element = document.createElementNS(svg.namespaceURI, name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      if (text !== undefined) element.textContent = text;
      parent.append(element);
      return element;
    }

    const controls = html("div", null, undefined, {className: "controls"});
    const caption = html("p", null, undefined, {className: "caption"});
    const legend = html("div", null, undefined, {className: "legend"});
    const warning = html("p", null, undefined, {className: "caption"});
    const tip = html("div", null, undefined, {className: "tip", hidden: true});
    tip.setAttribute("role", "status");
    svg.before(controls, caption);
    svg.after(legend, warning, tip);
    figure.classList.add("live");
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("role", "application");

    const setting = () => data.axes[state.axis].settings[state.setting];
    const view = () => setting().views.find((one) => one.name === state.view) || setting().views[0];

    /// Points that the scale can show, and what stands on the rail instead.
    function shown(series, log) {
      const zeros = series.rail.filter((one) => one.value);
      const points = log ? series.points
        : series.points.concat(zeros.map((one) => one.value)).sort((a, b) => a.x - b.x);
      return {points, rail: log ? series.rail : series.rail.filter((one) => !one.value)};
    }
    const visible = () => view().series.filter((one) => !state.hidden.has(one.name));
    const xsOf = (series) => [...new Set(series.flatMap((one) => [...one.points, ...one.rail].map((p) => p.x)))]
      .sort((a, b) => a - b);
    const logs = () => {
      const of = (key, usual) => (key in state.logs ? state.logs[key] : usual);
      return {x: canLogX() && of("x", view().xlog), y: canLogY() && of("y" + view().name, view().ylog)};
    };
    const canLogX = () => !view().names && xsOf(view().series).length > 1 && xsOf(view().series)[0] > 0;
    const canLogY = () => view().series.some((one) => one.points.length) &&
      view().series.every((one) => one.points.every((p) => p.y > 0));

    function choose(change) {
      change();
      state.at = -1;
      render();
    }

    function addSelect(title, key, names, chosen, change) {
      if (names.length < 2) return;
      const label = html("label", controls, title + " ");
      const select = html("select", label);
      select.dataset.key = key;
      names.forEach((name, i) => html("option", select, name, {value: i, selected: i === chosen}));
      select.addEventListener("change", () => choose(() => change(select.selectedIndex)));
    }
    function addButtons(key, texts, chosen, change) {
      if (texts.length < 2) return;
      const group = html("div", controls, undefined, {className: "group"});
      texts.forEach((text, i) => {
        const button = html("button", group, text, {type: "button"});
        button.setAttribute("aria-pressed", String(i === chosen));
        button.dataset.key = key + text;
        button.addEventListener("click", () => choose(() => change(i)));
      });
    }

    function drawControls() {
      controls.replaceChildren();
      const axis = data.axes[state.axis];
      addSelect("Along", "axis", data.axes.map((one) => one.name), state.axis,
        (i) => { state.axis = i; state.setting = 0; });
      addSelect("Setting", "setting", axis.settings.map((one) => one.name), state.setting,
        (i) => { state.setting = i; });
      const names = setting().views.map((one) => one.name);
      addButtons("view", names, names.indexOf(view().name), (i) => { state.view = names[i]; });
      const key = "y" + view().name;
      if (canLogY()) addButtons("y", ["y log", "linear"], logs().y ? 0 : 1, (i) => { state.logs[key] = i === 0; });
      if (canLogX()) addButtons("x", ["x log", "linear"], logs().x ? 0 : 1, (i) => { state.logs.x = i === 0; });
    }

    function drawMarker(parent, slot, x, y) {
      const shape = shapeOf(slot);
      const kind = shape.includes("open") ? " open" : shape === "cross" || shape === "plus" ? " drawn" : "";
      return draw("path", parent, {class: "point" + kind, d: outline(shape, x, y)});
    }

    function drawLegend() {
      legend.replaceChildren();
      for (const one of view().series) {
        const isShown = !state.hidden.has(one.name);
        const button = html("button", legend, undefined, {type: "button", title: isShown ? "Hide it" : "Show it"});
        button.setAttribute("aria-pressed", String(isShown));
        button.dataset.key = "legend" + one.name;
        const sample = draw("svg", button, {viewBox: "0 0 30 14", class: styleOf(one), "aria-hidden": "true"});
        draw("path", sample, {class: `line d${dashOf(one.slot)}`, d: "M0 7L30 7"});
        drawMarker(sample, one.slot, 15, 7);
        html("span", button, one.name);
        button.addEventListener("click", () => choose(() => {
          if (!state.hidden.delete(one.name)) state.hidden.add(one.name);
        }));
      }
    }

    const straight = (kind, x1, y1, x2, y2, parent = svg) => draw("line", parent, {class: kind, x1, x2, y1, y2});
    const write = (kind, x, y, text, anchor = "middle", parent = svg) =>
      draw("text", parent, {class: kind, x, y, "text-anchor": anchor}, text);

    /// One that can be pointed at: where it lies, and what is said of it.
    function hit(series, x, y, where, value, cell) {
      hits.push({series: series.name, x, y, where, value, beside: (data.cells[cell] || []).slice(1)});
    }
    const placeOf = (p) => (data.cells[p.cell] || [""])[0];

    function rangeOf(series, log) {
      const values = series.flatMap((one) => shown(one, log).points.flatMap((p) => [p.y, p.low, p.high]));
      if (view().line !== null && values.length) values.push(view().line);
      const fit = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
      if (!fit.length) return null;
      const low = fit.reduce((a, b) => Math.min(a, b)), high = fit.reduce((a, b) => Math.max(a, b));
      return log ? [low / 1.15, high * 1.15] : [Math.min(0, low), high > 0 ? high * 1.06 : 1];
    }

    /// Everything stands at one place: contenders are rows, and their values lie along x.
    function drawRows(series, log) {
      const row = 36, right = width - 16;
      const range = rangeOf(series, log);
      height = row * series.length + 44;
      const x = range ? scale(range[0], range[1], log, 14, right) : () => 14;
      if (range) {
        for (const v of ticks(range[0], range[1], log, Math.max(2, Math.floor(width / 90)))) {
          straight("grid", x(v), 4, x(v), height - 38);
          write("label", x(v), height - 22, numberText(v));
        }
        if (view().line !== null) straight("line-at", x(view().line), 4, x(view().line), height - 38);
      }
      if (!series.length) write("faint", width / 2, 24, "All hidden");
      series.forEach((one, i) => {
        const y = i * row + 28, {points, rail} = shown(one, log);
        const group = draw("g", svg, {class: `series ${styleOf(one)}`});
        const most = Math.floor(width / 7);
        const name = one.name.length > most ? one.name.slice(0, most - 1) + "…" : one.name;
        write("", 14, y - 12, name, "start", group);
        for (const p of points) {
          if (p.high > p.low) straight("interval", x(p.low), y, x(p.high), y, group);
          drawMarker(group, one.slot, x(p.y), y);
          hit(one, x(p.y), y, placeOf(p), p.text, p.cell);
        }
        for (const p of rail) {
          draw("path", group, {class: "none", d: outline("cross", 20, y)});
          write("faint", 32, y + 4, p.word, "start", group);
          hit(one, 20, y, placeOf(p), `${p.word}: ${p.reason}`, p.cell);
        }
      });
    }

    function drawLines(series, log) {
      const xs = xsOf(view().series), names = view().names;
      const hasRail = series.some((one) => shown(one, log.y).rail.length);
      const range = rangeOf(series, log.y);
      height = Math.round(Math.min(Math.max(width * 0.5, 280), 460));
      const top = hasRail ? 34 : 10, bottom = height - (names ? 56 : 46);
      const values = range ? ticks(range[0], range[1], log.y, Math.max(3, Math.floor((bottom - top) / 45))) : [];
      const left = 14 + Math.max(20, ...values.map((v) => widthOf(numberText(v)))), right = width - 14;
      const room = Math.min(24, (right - left) / 12);
      const x = names ? scale(-0.5, names.length - 0.5, false, left, right)
        : scale(xs[0], xs[xs.length - 1], log.x, left + room, right - room);
      const y = range ? scale(range[0], range[1], log.y, bottom, top) : () => bottom;

      for (const v of values) {
        straight("grid", left, y(v), right, y(v));
        write("label", left - 6, y(v) + 4, numberText(v), "end");
      }
      let next = Infinity;
      for (const v of [...xs].reverse()) {
        const lines = names ? names[v] : [v === view().inf ? "inf" : numberText(v)];
        const wide = Math.max(...lines.map(widthOf)) + 8;
        if (x(v) + wide / 2 > next) continue;
        next = x(v) - wide / 2;
        straight("axis", x(v), bottom, x(v), bottom + 4);
        lines.forEach((line, i) => write("label", x(v), bottom + 17 + 14 * i, line));
      }
      straight("axis", left, bottom, right, bottom);
      write("label", (left + right) / 2, height - 6, view().x);
      if (view().line !== null && range) straight("line-at", left, y(view().line), right, y(view().line));
      if (hasRail) draw("rect", svg, {class: "rail-band", x: left, y: 4, width: right - left, height: 20});

      const onRail = new Map();  // x -> how many stand there
      for (const one of series) {
        const {points, rail} = shown(one, log.y);
        const group = draw("g", svg, {class: `series ${styleOf(one)}`});
        if (points.length > 1) {
          const way = points.map((p, i) => `${i ? "L" : "M"}${x(p.x)} ${y(p.y)}`).join("");
          draw("path", group, {class: `line d${dashOf(one.slot)}`, d: way});
        }
        for (const p of points) {
          if (p.high > p.low) {
            const at = x(p.x), a = Math.min(y(p.low), bottom), b = y(p.high);
            const bar = `M${at} ${a}L${at} ${b}M${at - 3} ${a}h6M${at - 3} ${b}h6`;
            if (a - b > 2) draw("path", group, {class: "interval", d: bar});
          }
          drawMarker(group, one.slot, x(p.x), y(p.y));
          if (p.changed) draw("circle", group, {class: "changed", cx: x(p.x), cy: y(p.y), r: radius + 4});
          hit(one, x(p.x), y(p.y), placeOf(p), p.text, p.cell);
        }
        for (const p of rail) {
          const before = onRail.get(p.x) || 0;
          onRail.set(p.x, before + 1);
          const at = Math.min(Math.max(x(p.x) + 7 * before, left + 6), right - 6);
          draw("path", group, {class: "none", d: outline("cross", at, 14)});
          hit(one, at, 14, placeOf(p), `${p.word}: ${p.reason}`, p.cell);
        }
      }
      if (!range) write("faint", (left + right) / 2, (top + bottom) / 2, series.length ? "No values here" : "All hidden");
    }

    function drawPlot() {
      width = Math.max(280, Math.round(figure.clientWidth));
      hits = [];
      svg.replaceChildren();
      const series = visible(), log = logs();
      if (!view().names && xsOf(view().series).length <= 1) drawRows(series, log.y);
      else drawLines(series, log);
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.setAttribute("aria-label", `${view().y}; arrow keys tell the values`);
      tell(state.at);
    }

    function render() {
      const focused = figure.contains(document.activeElement) ? document.activeElement.dataset.key : null;
      drawControls();
      caption.textContent = [view().y, setting().title].filter((text) => text).join(" · ");
      drawLegend();
      warning.textContent = view().warning;
      warning.hidden = !view().warning;
      drawPlot();
      const again = focused && [...figure.querySelectorAll("[data-key]")].find((one) => one.dataset.key === focused);
      if (again) again.focus();
    }

    /// What is known of one value, beside it.
    function tell(index) {
      svg.querySelectorAll(".ring").forEach((ring) => ring.remove());
      state.at = index < hits.length ? index : -1;
      tip.hidden = state.at < 0;
      if (tip.hidden) return;
      const one = hits[state.at];
      draw("circle", svg, {class: "ring", cx: one.x, cy: one.y, r: radius + 3});
      tip.replaceChildren();
      html("p", tip, one.series);
      if (one.where) html("p", tip, one.where, {className: "small"});
      html("p", tip, one.value, {className: "value"});
      for (const line of one.beside) html("p", tip, line);
      const drawn = svg.getBoundingClientRect(), around = figure.getBoundingClientRect();
      const by = drawn.width / width;
      const x = drawn.left - around.left + one.x * by, y = drawn.top - around.top + one.y * by;
      tip.style.left = `${Math.max(0, Math.min(x + 12, around.width - tip.offsetWidth))}px`;
      tip.style.top = `${y - tip.offsetHeight - 12 > 0 ? y - tip.offsetHeight - 12 : y + 14}px`;
    }

    function point(event) {
      const box = svg.getBoundingClientRect(), by = width / box.width;
      const x = (event.clientX - box.left) * by, y = (event.clientY - box.top) * by;
      let best = -1, distance = near;
      hits.forEach((one, i) => {
        const d = Math.hypot(one.x - x, one.y - y);
        if (d < distance) { best = i; distance = d; }
      });
      tell(best);
    }

    /// Left and right along a contender, up and down to another at the same place.
    function step(event) {
      const moves = {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1]};
      if (event.key === "Escape") return tell(-1);
      if (!moves[event.key] || !hits.length) return;
      event.preventDefault();
      if (state.at < 0) return tell(0);
      const [along, across] = moves[event.key], now = hits[state.at];
      if (along) {
        const own = hits.filter((one) => one.series === now.series).sort((a, b) => a.x - b.x);
        const to = own[own.indexOf(now) + along];
        return to && tell(hits.indexOf(to));
      }
      const order = [...new Set(hits.map((one) => one.series))];
      const name = order[(order.indexOf(now.series) + across + order.length) % order.length];
      const others = hits.filter((one) => one.series === name);
      const to = others.reduce((a, b) => (Math.abs(b.x - now.x) < Math.abs(a.x - now.x) ? b : a));
      return tell(hits.indexOf(to));
    }

    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", () => tell(-1));
    svg.addEventListener("blur", () => tell(-1));
    svg.addEventListener("keydown", step);
    new ResizeObserver(() => {
      if (Math.max(280, Math.round(figure.clientWidth)) !== width) drawPlot();
    }).observe(figure);
    render();
  }

  document.querySelectorAll(".chart").forEach(chart);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
})();
