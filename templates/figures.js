(function () {
  "use strict";
  const root = document.documentElement;
  const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
  let plots = Array.from(document.querySelectorAll(".plot"));
  const config = {
    displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toImage"],
  };
  const narrowBelow = 440; // two plots side by side on a screen of 1280 pixels are 474 wide
  const paperWidth = 660;
  // The height that remains for a plot on a sheet of paper, next to the legend, the text and the section heading.
  const paperHeight = { first: 620, next: 790 };
  const mostLabels = 12; // A matrix or category axis with more entries may omit some labels.
  const character = 6.4; // The mean width of a character in a label, in pixels.
  let page;
  let printing = false;

  const isDark = () => !printing && (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);

  // ---- legend: above the figure, where it covers nothing ----
  const shapes = {
    circle: "M4 0a4 4 0 1 0-8 0a4 4 0 1 0 8 0", square: "M-4-4h8v8h-8z", diamond: "M0-5 5 0 0 5-5 0z",
    "triangle-up": "M-5 4 0-5 5 4z", x: "M-5-3-3-5 0-2 3-5 5-3 2 0 5 3 3 5 0 2-3 5-5 3-2 0z",
    cross: "M-2-5h4v3h3v4h-3v3h-4v-3h-3v-4h3z", star: "M0-6 2-2 6-2 3 1 4 5 0 3-4 5-3 1-6-2-2-2z",
    hexagon: "M-5 0-2.5-4.5h5L5 0 2.5 4.5h-5z",
  };
  const hatches = {
    "/": "M-10 6 0-6M0 6 10-6", "\\": "M-10-6 0 6M0-6 10 6", x: "M-10 6 0-6 10 6M-10-6 0 6 10-6", ".": "M-6 0h2M0 0h2M6 0h2",
    "-": "M-10 0h20", "|": "M-5-6v12M0-6v12M5-6v12", "+": "M-10 0h20M-4-6v12M4-6v12",
  };
  const dashes = { dash: "6 3", dot: "2 2", dashdot: "6 2 2 2", longdash: "9 3", longdashdot: "9 2 2 2" };
  // Plotly's dashes are longer in wider lines, so those of lines that coincide would not match.
  const inPixels = { dash: "9px,9px", dot: "3px,3px", dashdot: "9px,3px,3px,3px", longdash: "15px,15px", longdashdot: "15px,3px,3px,3px" };
  function sample(trace, width) {
    const bar = trace.type === "bar";
    const colour = trace.marker.color;
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const add = (name, attributes) => {
      const item = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) item.setAttribute(key, value);
      svg.append(item);
    };
    svg.setAttribute("viewBox", "-14 -7 28 14");
    svg.setAttribute("aria-hidden", "true");
    if (bar) {
      const pattern = (trace.marker.pattern || {}).shape || "";
      add("rect", { x: -10, y: -6, width: 20, height: 12, fill: colour });
      add("path", { d: hatches[pattern] || "", stroke: "#fff", "stroke-opacity": 0.7, "stroke-width": 1.5, fill: "none" });
    } else {
      const line = () => ({ d: "M-14 0h28", stroke: colour, "stroke-width": width, "stroke-dasharray": dashes[trace.line.dash] || "none" });
      if (trace.mode !== "markers") add("path", line());
      if (trace.mode !== "lines") add("path", { d: shapes[trace.marker.symbol], fill: colour });
    }
    return svg;
  }
  function legendOf(plot) {
    let legend = plot.previousElementSibling;
    if (legend && legend.classList.contains("legend")) return legend;
    legend = document.createElement("div");
    legend.className = "legend js-only";
    legend.setAttribute("role", "group");
    legend.setAttribute("aria-label", "Series; each button shows or hides one");
    plot.before(legend);
    return legend;
  }
  function drawLegend(plot, data, panels) {
    const named = data.filter((trace) => trace.showlegend);
    const hidden = hiddenNames(plot);
    if (!named.length) return;
    const legend = legendOf(plot);
    const decode = document.createElement("textarea");
    legend.replaceChildren(...named.map((trace) => {
      const button = document.createElement("button");
      decode.innerHTML = trace.name; // The names are escaped, because plotly interprets HTML.
      button.type = "button";
      button.append(sample(trace, panels ? 2 : trace.line && trace.line.width), decode.value);
      button.title = decode.value;
      button.setAttribute("aria-pressed", String(!hidden.has(trace.legendgroup)));
      button.addEventListener("click", () => toggle(plot, trace.legendgroup));
      return button;
    }));
    const least = 4 * legend.offsetHeight; // The legend takes up at most a fifth of the figure.
    plot.style.minHeight = least > plot.clientHeight ? `${least}px` : "";
  }
  const hiddenNames = (plot) => plot.hiddenNames || (plot.hiddenNames = new Set());
  function toggle(plot, name) {
    const hidden = hiddenNames(plot);
    if (!hidden.delete(name)) hidden.add(name);
    draw(plot);
  }

  // ---- labels that fit the actual width ----
  const widthOf = (label) => label.length * 6.9 + 5;
  function places(axis, width) {
    const [low, high] = axis.range;
    const at = (value) => (axis.type === "log" ? Math.log10(value) : value);
    return axis.tickvals.map((value) => ((at(value) - low) / (high - low)) * width);
  }
  function only(axis, kept) {
    const left = (items) => items.filter((item, index) => kept.includes(index));
    return { ...axis, tickvals: left(axis.tickvals), ticktext: left(axis.ticktext) };
  }
  function numbers(axis, width, every, beside) {
    // Keeps each label for which there is room, but at least three. Labels that must not be omitted are rotated instead.
    const size = axis.ticktext.map((label) => widthOf(label) + (every ? 0 : 4));
    const at = places(axis, width);
    const half = (index) => size[index] / 2 - 2; // Half of the text, without most of its padding.
    const inside = (index) => at[index] - half(index) > -beside && at[index] + half(index) < width + beside;
    const apart = (one, other) => at[other] - size[other] / 2 >= at[one] + size[one] / 2;
    const kept = [];
    at.forEach((centre, index) => {
      if (inside(index) && (!kept.length || apart(kept.at(-1), index))) kept.push(index);
    });
    if (kept.length === at.length) return { ...axis, tickangle: 0 };
    if (every) return { ...axis, tickangle: -90 };
    if (at.every((centre, index) => index < 2 || Math.abs(centre - 2 * at[index - 1] + at[index - 2]) < 1)) {
      // Of evenly spaced labels, every second one, every third one and so on are kept, so that they remain evenly spaced.
      for (let step = 2; step * 2 < at.length; step += 1) {
        const some = at.map((centre, index) => index).filter((index) => index % step === 0 && inside(index));
        const free = some.every((index, number) => !number || apart(some[number - 1], index));
        if (some.length >= 3 && free) return only({ ...axis, tickangle: 0 }, some);
      }
    }
    if (kept.length < 3 && at.length >= 3) return only({ ...axis, tickangle: -90 }, [0, Math.floor(at.length / 2), at.length - 1]);
    return only({ ...axis, tickangle: 0 }, kept);
  }
  function fitColourBar(trace, width) {
    const { tickvals, ticktext } = numbers({ ...trace.colorbar, range: [trace.zmin, trace.zmax] }, width, false, 30);
    // The label of the upper end takes the place of its neighbor if there is no room for both.
    const withEnd = (kept, all) => [...kept.slice(0, -1), all.at(-1)];
    Object.assign(trace.colorbar, {
      tickvals: withEnd(tickvals, trace.colorbar.tickvals), ticktext: withEnd(ticktext, trace.colorbar.ticktext),
    });
  }
  function lines(axis, height) {
    // On a short axis, only every second or third tick has a label, but at least three ticks have one.
    const at = places(axis, height);
    for (let step = 1; ; step += 1) {
      const kept = at.map((place, index) => index).filter((index) => index % step === 0);
      const apart = kept.every((index, number) => !number || at[index] - at[kept[number - 1]] >= 15);
      if (apart || kept.length <= 5) return only(axis, kept);
    }
  }
  function spaced(axis, width) {
    // Keeps all labels of a matrix or, if there is not enough room, every second one, every third one and so on.
    const step = Math.ceil(((Math.max(...axis.ticktext.map(widthOf)) + 7) * axis.ticktext.length) / width);
    return only(axis, axis.ticktext.map((label, index) => index).filter((index) => index % step === 0));
  }
  function wrapped(label, most) {
    const lines = [""];
    for (const word of label.split(/(?<=[ -])(?!%)/)) {
      if ((lines.at(-1) + word).trimEnd().length > most && lines.at(-1)) lines.push("");
      lines[lines.length - 1] += word;
    }
    return lines.map((line) => line.trimEnd());
  }
  function categories(axis, width) {
    // Breaks labels into lines or, if words are too long, rotates them. If there are many labels, some are omitted instead.
    const slot = width / axis.ticktext.length;
    const texts = axis.ticktext.map((label) => wrapped(label, Math.floor((slot - 6) / 6)));
    const sizes = texts.map((lines) => Math.max(...lines.map((line) => line.length)) * character);
    const touching = sizes.some((size, index) => index && (size + sizes[index - 1]) / 2 > slot - 8);
    if (touching || Math.max(...sizes) > slot * 1.1) {
      if (texts.length > mostLabels) return { ...spaced(axis, width), tickangle: 0 };
      return { ...axis, tickangle: -90 };
    }
    return { ...axis, tickangle: 0, ticktext: texts.map((lines) => lines.join("<br>")) };
  }
  function shorten(title, height, layout) {
    if (title.text.length * 6.8 <= height) return;
    const text = title.text.replace(/, (lower|higher) is better$/, "<br>$1 is better");
    if (text === title.text) return;
    title.text = text;
    layout.margin.l += 16;
    if (title.xshift) title.xshift -= 16;
  }
  function roomBelow(axis) {
    const texts = axis.ticktext || [];
    if (axis.tickangle) return 34 + 7 * Math.max(...texts.map((text) => text.length));
    return 34 + 15 * Math.max(1, ...texts.map((text) => text.split("<br>").length));
  }
  function fitMarks(layout, data, inside) {
    // Keeps the marks across bars no wider than the bars; a mark is 1.4 times as long as its size.
    const groups = new Set(data.filter((one) => "offsetgroup" in one).map((one) => one.offsetgroup)).size;
    if (!groups) return;
    const [from, to] = layout.xaxis.domain || [0, 1];
    const bar = ((to - from) * inside * (1 - layout.bargap)) / layout.xaxis.categoryarray.length / groups;
    for (const { marker } of data) {
      if (/^line-ew/.test(marker.symbol)) marker.size = Math.min(marker.size, Math.max(3, bar / 1.4));
    }
  }
  function shortenRated(layout, width) {
    // On a narrow page, labels omit the coordinates of the rated value, which the table of references shows.
    const notes = (layout.annotations || []).filter((note) => note.name === "rated");
    for (const note of notes) if (note.text.length * character > width / 2) [note.text] = note.text.split(" at ");
  }
  function restack(layout, notes, width) {
    // Rearranges the labels of vertical lines, which were placed for a page of the usual width.
    const [low, high] = layout.xaxis.range;
    const ends = [];
    for (const note of notes) {
      const size = note.text.length * character + 8;
      let left = ((note.x - low) / (high - low)) * width;
      if (left + size > width + 20) {
        note.xanchor = "right";
        note.xshift = 3;
        left -= size;
      }
      let row = ends.findIndex((end) => left >= end);
      if (row < 0) row = ends.length;
      ends[row] = left + size;
      note.yshift = 15 * row;
    }
    layout.margin.t = 28 + 15 * ends.length;
    return 15 * Math.max(0, ends.length - 2);
  }
  function arrange(plot, layout, width) {
    const grid = layout.meta.grids.filter((item) => item.from <= width).at(-1);
    for (const [name, axis] of Object.entries(grid.axes)) Object.assign(layout[name], axis);
    const place = plot.closest("figure").previousElementSibling ? "next" : "first";
    layout.height = printing ? Math.min(grid.height, paperHeight[place]) : grid.height;
  }
  function fitAxes(layout, inside, map) {
    const grid = layout.meta && layout.meta.grids;
    for (const name of Object.keys(layout).filter((key) => key.startsWith("xaxis"))) {
      const [from, to] = layout[name].domain || [0, 1];
      const width = inside * (to - from);
      const beside = to - from < 1 ? Math.max(6, 0.02 * inside - 4) : layout.margin.r; // The gap between panels is 4 %.
      if (!layout[name].ticktext) continue;
      if (map && layout[name].ticktext.length > mostLabels) layout[name] = spaced(layout[name], width);
      else if (layout[name].range) layout[name] = numbers(layout[name], width, layout.meta && layout.meta.every, beside);
      else layout[name] = categories(layout[name], width);
    }
    const more = roomBelow(layout.xaxis) - 49;
    if (!grid || more <= 0 || map) return;
    // The figure grows, so that the panels keep their height.
    const [before, bottom] = [layout.height - layout.margin.t - layout.margin.b, layout.margin.b];
    layout.margin.b += more;
    layout.height = before + layout.margin.t + bottom + more;
    for (const note of layout.annotations) if (note.name === "title" && !note.textangle) note.yshift -= more;
  }
  function fit(plot, layout, data) {
    const width = printing ? paperWidth : plot.clientWidth;
    const map = data.length > 0 && data[0].type === "heatmap";
    const left = map ? Math.max(layout.margin.l, 30 + Math.max(...data[0].y.map(widthOf))) : layout.margin.l; // Plotly makes room for the rows' names.
    const inside = width - left - layout.margin.r - 10;
    if (layout.meta && layout.meta.grids) arrange(plot, layout, width);
    fitAxes(layout, inside, map);
    for (const trace of data) if (trace.colorbar) fitColourBar(trace, trace.colorbar.len * inside);
    const notes = (layout.annotations || []).filter((note) => note.name === "marker");
    const below = layout.xaxis.tickangle ? Math.max(0, roomBelow(layout.xaxis) - 80) : 0;
    const extra = (layout.meta && layout.meta.grids ? 0 : below) + (notes.length ? restack(layout, notes, inside) : 0);
    shortenRated(layout, inside);
    fitMarks(layout, data, inside);
    if (width < narrowBelow) {
      layout.margin.t -= 20; // There are no plotly buttons on a narrow page.
      for (const trace of data) if (trace.meta) Object.assign(trace, trace.meta);
    }
    const tall = (layout.height || plot.clientHeight + extra) - layout.margin.t;
    const beside = (layout.annotations || []).filter((note) => note.name === "title" && note.textangle);
    for (const note of beside) shorten(note, tall - layout.margin.b, layout);
    const high = tall - (layout.meta && layout.meta.grids ? layout.margin.b : roomBelow(layout.xaxis));
    for (const name of Object.keys(layout).filter((key) => key.startsWith("yaxis") && layout[key].range)) {
      const [from, to] = layout[name].domain || [0, 1];
      layout[name] = lines(layout[name], high * (to - from));
    }
    if (layout.yaxis.title) shorten(layout.yaxis.title, tall - roomBelow(layout.xaxis), layout);
    return extra;
  }
  // ---- tooltips: their words are stored once, and only their numbers for each mark and cell (asct/figures/tooltips.py) ----
  function textsOf(forms, lists) {
    const [kinds, ...numbers] = lists.map((one) => one.split(" "));
    return kinds.map((kind, at) => forms[kind].map((part, index) => part + (numbers[index]?.[at] ?? "")).join(""));
  }
  function lazyRows(forms, rows) {
    // A matrix can have many thousand cells, so the texts of a row are put together when one of them is shown.
    return rows.reduce((texts, row, number) => (
      Object.defineProperty(texts, number, { enumerable: true, get: () => textsOf(forms, row) })
    ), []);
  }
  function addTooltips(data, { forms, traces }) {
    data.forEach((trace, number) => {
      const lists = traces[number];
      if (lists) trace.customdata = trace.type === "heatmap" ? lazyRows(forms, lists) : textsOf(forms, lists);
    });
  }
  function figureFor(plot) {
    const { tooltips, ...figure } = page.figures[plot.dataset.figure];
    let text = JSON.stringify(figure);
    const dark = isDark();
    if (dark) for (const [light, colour] of Object.entries(page.dark)) text = text.replaceAll(light, colour);
    const { data, layout } = JSON.parse(text);
    layout.template = page.templates[dark ? "dark" : "light"];
    addTooltips(data, tooltips);
    for (const trace of data) if (hiddenNames(plot).has(trace.legendgroup)) trace.visible = false;
    return { data, layout };
  }

  // ---- drawing ----
  async function draw(plot) {
    const { data, layout } = figureFor(plot);
    plot.style.height = layout.height ? `${layout.height}px` : "";
    drawLegend(plot, data, Boolean(layout.meta && layout.meta.grids)); // The widths of lines may differ between panels.
    for (const { line } of data) if (line && line.dash in inPixels) line.dash = inPixels[line.dash];
    const extra = fit(plot, layout, data);
    const high = plot.classList.contains("square") ? Math.min(paperWidth, 100 + 80 * data[0].y.length) : 0;
    if (printing) layout.height = layout.height || Math.max(320, high) + extra;
    if (layout.height || extra) plot.style.height = `${layout.height || plot.clientHeight + extra}px`;
    plot.style.width = printing ? `${paperWidth}px` : "";
    Object.assign(layout, { width: printing ? paperWidth : plot.clientWidth, height: layout.height || plot.clientHeight });
    const displayModeBar = plot.clientWidth < narrowBelow ? false : "hover";
    await Plotly.react(plot, data, layout, { ...config, displayModeBar });
    if (plot.watched) return;
    plot.watched = true;
    plot.on("plotly_relayout", (change) => zoomed(plot, change));
    plot.on("plotly_doubleclick", () => draw(plot));
  }
  function ticksOf(plot, name) {
    // Counts, such as rounds, must not get ticks between whole numbers.
    const { layout } = plot;
    const [low, high] = layout[name].range;
    const whole = layout.meta && (layout.meta.whole || []).includes(name[0]) && layout[name].type === "linear";
    if (!whole || high - low >= 10) return { [`${name}.tickmode`]: "auto" };
    return { [`${name}.tickmode`]: "linear", [`${name}.tick0`]: 0, [`${name}.dtick`]: 1 };
  }
  function zoomed(plot, change) {
    // The given ticks are those of the whole axis, so plotly chooses new ones for the visible part.
    const parts = Object.keys(change).filter((key) => /^[xy]axis\d*\.range\[0\]$/.test(key));
    const axes = parts.map((key) => key.split(".")[0]).filter((name) => plot.layout[name].type !== "category");
    if (axes.length) Plotly.relayout(plot, Object.assign({}, ...axes.map((name) => ticksOf(plot, name))));
    else if (Object.keys(change).some((key) => key.endsWith(".autorange"))) draw(plot);
  }
  const pause = () => new Promise((resolve) => setTimeout(resolve, 0));
  const folded = (plot) => plot.closest("details:not([open])") !== null;
  async function drawOpened(event) {
    if (!window.Plotly || !event.target.open) return;
    for (const plot of event.target.querySelectorAll(".plot")) {
      if (folded(plot)) continue;
      await draw(plot);
      await pause();
    }
  }
  // The figures in or near the viewport are drawn first; this set changes as the reader scrolls.
  const near = new Set();
  let watcher;
  const watching = new Promise((resolve) => {
    watcher = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) near[isIntersecting ? "add" : "delete"](target);
      resolve();
    }, { rootMargin: "50% 0px" });
    plots.forEach((plot) => watcher.observe(plot));
  });
  let round = 0;
  async function drawAll() {
    if (!window.Plotly) return;
    const mine = (round += 1);
    root.dataset.figures = "drawing";
    const left = plots.filter((plot) => !folded(plot)); // Figures in a closed section are drawn when it is opened.
    while (left.length) {
      const [plot] = left.splice(Math.max(0, left.findIndex((one) => near.has(one))), 1);
      await draw(plot);
      await pause();
      if (mine !== round) return; // A later call draws the remaining figures.
    }
    root.dataset.figures = "drawn";
  }
  function widen(plot) {
    const { meta } = page.figures[plot.dataset.figure].layout;
    plot.closest("figure").classList.toggle("panels", Boolean(meta && meta.grids));
  }
  function fillRows(box) {
    // If the number of figures between two wide ones is odd, one of them fills a row: the first that is not square.
    let run = [];
    const end = () => {
      const free = run.findIndex((one, index) => index % 2 === 0 && !one.querySelector(".square"));
      run.forEach((one, index) => one.classList.toggle("alone", run.length % 2 === 1 && index === Math.max(0, free)));
      run = [];
    };
    for (const one of box.children) one.classList.contains("panels") ? end() : run.push(one);
    end();
  }

  // ---- figures of a single host: loaded and drawn only on request ----
  let hosts;
  function figureOf({ slug, title, caption, square }) {
    const figure = document.createElement("figure");
    const heading = document.createElement("figcaption");
    const plot = document.createElement("div");
    const parts = [["h3", title], ["p", caption]].map(([name, text]) => {
      const part = document.createElement(name);
      part.textContent = text;
      return part;
    });
    heading.append(...parts);
    parts[0].id = `${slug}-title`;
    figure.id = slug;
    figure.setAttribute("aria-labelledby", parts[0].id);
    plot.id = `plot-${slug}`;
    plot.className = `plot js-only${square ? " square" : ""}`;
    plot.dataset.figure = slug;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", `${title}; the same values are in the tables of this section`);
    figure.append(heading, plot);
    return figure;
  }
  async function showHost(block) {
    if (!window.Plotly || !block.open) return;
    const { value } = block.querySelector("select");
    if (block.dataset.host === value) return;
    block.dataset.host = value;
    root.dataset.figures = "drawing";
    if (!hosts) {
      const found = JSON.parse(await window.asct.inflate("host-data-gzip"));
      Object.assign(page.figures, found.figures);
      hosts = found.hosts;
    }
    for (const plot of block.querySelectorAll(".plot")) {
      watcher.unobserve(plot);
      near.delete(plot);
      Plotly.purge(plot);
    }
    block.querySelector(".figures").replaceChildren(...hosts[block.dataset.section][value].map(figureOf));
    plots = Array.from(document.querySelectorAll(".plot"));
    for (const plot of block.querySelectorAll(".plot")) {
      widen(plot);
      watcher.observe(plot);
    }
    block.querySelectorAll(".figures").forEach(fillRows);
    await drawAll();
  }
  const blocks = Array.from(document.querySelectorAll(".of-host"));
  for (const block of blocks) {
    const select = block.querySelector("select");
    block.addEventListener("toggle", () => showHost(block));
    select.addEventListener("change", () => {
      history.replaceState(null, "", `#${block.id}?${new URLSearchParams({ host: select.value })}`);
      showHost(block);
    });
  }
  function linkedHost() {
    const [id, query] = location.hash.slice(1).split("?");
    const block = blocks.find((one) => one.id === decodeURIComponent(id));
    const host = new URLSearchParams(query || "").get("host");
    const select = block && block.querySelector("select");
    if (!select || !Array.from(select.options).some((one) => one.value === host)) return;
    select.value = host;
    block.open = true;
    showHost(block);
  }
  window.addEventListener("hashchange", linkedHost);

  async function start() {
    if (!plots.length) return;
    try {
      const script = document.createElement("script");
      page = JSON.parse(await window.asct.inflate("page-data-gzip"));
      script.textContent = await window.asct.inflate("plotly-gzip");
      document.head.append(script);
      if (!window.Plotly) throw new Error("the plotting library did not start");
      plots.forEach(widen);
      document.querySelectorAll(".figures").forEach(fillRows);
      await watching;
      await drawAll();
      linkedHost();
      blocks.forEach(showHost);
    } catch (error) {
      for (const plot of plots) {
        if (!plot.querySelector(".main-svg")) {
          plot.classList.add("missing");
          plot.textContent = `This browser cannot draw the figure (${error.message}); its values are in the table below or in the run's files.`;
        }
      }
    }
  }
  let resized;
  window.addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(drawAll, 200); // Ticks and labels depend on the width.
  });
  document.addEventListener("toggle", drawOpened, true); // `toggle` does not bubble, so it must be captured.
  document.addEventListener("asct-colors", drawAll);
  systemDark.addEventListener("change", drawAll);
  window.addEventListener("beforeprint", () => {
    if (!window.Plotly) return;
    printing = true;
    plots.forEach(draw);
  });
  window.addEventListener("afterprint", () => {
    printing = false;
    drawAll();
  });
  requestAnimationFrame(() => setTimeout(start, 0));
})();
