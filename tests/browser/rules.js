// The rules that every report page keeps, evaluated in the page. Each function returns what breaks the rule.
window.rules = (() => {
  const all = (where, selector) => Array.from(where.querySelectorAll(selector));
  const visible = (one) => {
    const box = one.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(one).visibility !== "hidden";
  };
  const text = (one) => (one.textContent || "").trim();
  const plots = () => all(document, ".plot.js-plotly-plot").filter(visible);
  const each = (rule) => plots().flatMap((plot) => rule(plot).map((problem) => `${plot.id}: ${problem}`));
  const axesOf = (plot) => Object.entries(plot._fullLayout)
    .filter(([key, axis]) => /^[xy]axis\d*$/.test(key) && axis && axis._id).map(([, axis]) => axis);
  const tracesOf = (plot) => plot._fullData.filter((one) => one.visible === true && one.hoverinfo !== "skip");
  const numeric = (axis) => axis.type === "linear" || axis.type === "log";
  const labels = (plot, axis) => all(plot, `.${axis._id}tick text`).filter((one) => visible(one) && text(one));
  const shared = (plot, axis) => axis.matches || axesOf(plot).some((one) => one.matches === axis._id);

  function fewTicks(plot) {
    return axesOf(plot)
      .filter((axis) => numeric(axis) && axis.visible && !(shared(plot, axis) && !labels(plot, axis).length))
      .filter((axis) => labels(plot, axis).length < 3)
      .map((axis) => `${axis._name} has ${labels(plot, axis).length} labelled ticks`);
  }
  // Given values, such as queue depths, are whole numbers or words; measured ones, such as rates, are not.
  function unlabelledX(plot) {
    return axesOf(plot).filter((axis) => axis._id[0] === "x").flatMap((axis) => {
      if (shared(plot, axis) && !labels(plot, axis).length) return [];
      const mine = tracesOf(plot).filter((one) => (one.xaxis || "x") === axis._id && one.type !== "heatmap");
      const values = [...new Set(mine.flatMap((one) => Array.from(one.x || [])))];
      const given = values.every((one) => typeof one === "string" || Number.isInteger(one));
      if (!given || !values.length || values.length > 12) return [];
      const at = (one) => (axis.type === "log" ? Math.log10(one) : axis.d2c(one));
      const places = axis._vals.filter((one) => one.text && one.text.trim()).map((one) => one.x);
      const missing = values.filter((one) => !places.some((place) => Math.abs(at(one) - place) < 1e-6));
      // a panel of several is narrow: it may leave out labels that would overlap
      const panel = axesOf(plot).filter((one) => one._id[0] === "x").length > 1;
      return missing.filter(() => !panel || missing.length > values.length / 2)
        .map((one) => `${axis._name} does not label ${one}`);
    });
  }
  function manySeries(plot) {
    const found = {};
    for (const one of tracesOf(plot)) {
      if (one.type === "heatmap" || !one.name) continue;
      (found[`${one.xaxis}${one.yaxis}`] ||= new Set()).add(one.legendgroup || one.name);
    }
    return Object.entries(found).filter(([, names]) => names.size > 8)
      .map(([where, names]) => `${names.size} series in ${where}`);
  }
  const legendOf = (plot) => (plot.previousElementSibling?.matches(".legend") ? plot.previousElementSibling : null);
  // A bar begins at zero, which a logarithmic axis does not have.
  function barsOnLog(plot) {
    const log = (one) => plot._fullLayout[one.yaxis.replace(/^y/, "yaxis")].type === "log";
    return tracesOf(plot).filter((one) => one.type === "bar" && log(one)).map((one) => `the bars of ${one.name} have no zero`);
  }
  function tallLegend(plot) {
    const [legend, height] = [legendOf(plot)?.offsetHeight || 0, plot.offsetHeight];
    return legend > 0.2 * (legend + height) + 1 ? [`the legend takes ${legend} of ${legend + height} pixels`] : [];
  }
  function parts(plot) {
    const found = [];
    const add = (kind, selector, where = plot) => {
      for (const one of all(where, selector)) {
        const tilted = /rotate\((?!0[,)])/.test(one.getAttribute("transform") || "");
        if (visible(one)) found.push({ kind, tilted, name: `${kind} "${text(one).slice(0, 24)}"`, box: one.getBoundingClientRect() });
      }
    };
    if (legendOf(plot)) add("legend", "button", legendOf(plot));
    add("title", ".gtitle");
    for (const axis of axesOf(plot)) {
      add("axis title", `.${axis._id}title`);
      add("tick", `.${axis._id}tick text`);
    }
    add("tick", ".cbaxis text");
    add("note", ".annotation-text-g");
    add("modebar", ".modebar-group");
    add("plot", ".nsewdrag");
    return found;
  }
  function overlaps(plot) {
    const found = [];
    const list = parts(plot);
    // notes name lines and marks, which stand in the plot
    const apart = (a, b) => !((a.kind === "note" && b.kind === "plot") || (a.kind === "modebar" && b.kind === "modebar") ||
      (a.tilted && b.tilted)); // the boxes of tilted texts overlap where the texts do not
    for (let i = 0; i < list.length; i += 1) {
      for (let j = i + 1; j < list.length; j += 1) {
        const [a, b] = a0b0(list[i], list[j]);
        const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        const high = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        if (wide > 2 && high > 2 && apart(a, b)) found.push(`${a.name} lies on ${b.name}`);
      }
    }
    return found;
  }
  function a0b0(a, b) {
    return a.kind === "note" || b.kind === "plot" ? [a, b] : b.kind === "note" || a.kind === "plot" ? [b, a] : [a, b];
  }
  function outside(plot) {
    const frame = plot.getBoundingClientRect();
    return parts(plot).filter(({ kind, box }) => kind !== "legend" && (box.left < frame.left - 2 || box.right > frame.right + 2 ||
      box.top < frame.top - 2 || box.bottom > frame.bottom + 2)).map(({ name }) => `${name} is cut off`);
  }
  function styles() {
    const found = {};
    for (const plot of plots()) {
      for (const one of tracesOf(plot)) {
        if (one.type === "heatmap" || !one.name || one.showlegend === false) continue;
        const mark = one.marker && one.type !== "bar" && one.mode !== "lines" ? one.marker.symbol : "";
        const look = `${(one.marker || one.line).color} ${mark}`.trim();
        const key = `${one.name} (${one.type})`;
        ((found[key] ||= {})[look] ||= []).push(plot.id);
      }
    }
    return found;
  }
  function mixedColours() {
    return Object.entries(styles()).filter(([, colours]) => Object.keys(colours).length > 1)
      .map(([name, colours]) => `${name}: ${Object.entries(colours).map(([colour, where]) => `${colour} in ${where[0]}`).join(", ")}`);
  }
  const inside = (box) => ({ left: box.left + 2, right: box.right - 2, top: box.top + 2, bottom: box.bottom - 2 });
  function crosses([from, to], box) {
    let [first, last] = [0, 1];
    for (const [start, end, low, high] of [[from.x, to.x, box.left, box.right], [from.y, to.y, box.top, box.bottom]]) {
      const ends = [low, high].map((one) => (one - start) / (end - start || 1e-9)).sort((a, b) => a - b);
      [first, last] = [Math.max(first, ends[0]), Math.min(last, ends[1])];
    }
    return first < last;
  }
  function lineParts(plot) {
    const { left, top } = plot.getBoundingClientRect();
    return plot.calcdata.filter(([first]) => /lines/.test(first.trace.mode) && first.trace.fill !== "toself").flatMap((points) => {
      const [x, y] = ["xaxis", "yaxis"].map((name) => plot._fullLayout[points[0].trace[name].replace(/^./, "$&axis")]);
      const places = points.map((one) => ({ x: left + x._offset + x.c2p(one.x), y: top + y._offset + y.c2p(one.y) }))
        .filter((one) => Number.isFinite(one.x) && Number.isFinite(one.y));
      return places.slice(1).map((one, index) => [places[index], one]);
    });
  }
  // A load beside its mark is on no line and no interval; the label of a rated value may be, as its background covers them.
  function crossedLabels(plot) {
    const texts = all(plot, ".textpoint text").filter((one) => visible(one) && text(one));
    const middle = ({ left, right, top, bottom }) => [{ x: (left + right) / 2, y: top }, { x: (left + right) / 2, y: bottom }];
    const lines = [...lineParts(plot), ...all(plot, ".yerror").map((one) => middle(one.getBoundingClientRect()))];
    const crossed = texts.filter((one) => lines.some((line) => crosses(line, inside(one.getBoundingClientRect()))));
    const bare = all(plot, ".annotation").filter((one) => plot.layout.annotations[one.dataset.index]?.name === "rated")
      .filter((one) => !(one.querySelector(".bg").style.fillOpacity > 0.7));
    return [...crossed.map((one) => `a line crosses "${text(one)}"`), ...bare.map((one) => `${text(one)} has no background`)];
  }
  // A load beside its mark stays in the plot or panel; above it are titles, below it are ticks.
  function strayLabels(plot) {
    const areas = all(plot, ".nsewdrag").map((one) => one.getBoundingClientRect());
    const within = (box) => areas.some((area) => box.left > area.left - 2 && box.right < area.right + 2 &&
      box.top > area.top - 2 && box.bottom < area.bottom + 2);
    return all(plot, ".textpoint text").filter((one) => visible(one) && text(one) && !within(one.getBoundingClientRect()))
      .map((one) => `"${text(one)}" leaves the plot`);
  }
  // Labels are level or, where there is no room, upright; a count has no fractions.
  function slantedTicks(plot) {
    return all(plot, ".xtick text").filter((one) => /rotate\((?!0[,)]|-90[,)])/.test(one.getAttribute("transform") || ""))
      .map((one) => `${text(one)} is slanted`);
  }
  function brokenCounts(plot) {
    const counts = axesOf(plot).filter((axis) => /^(Round|Burst|Pairs|IODepth|ProcessCount)/.test(axis.title.text));
    return counts.flatMap((axis) => labels(plot, axis).map(text)).filter((one) => /\.\d/.test(one)).map((one) => `${one} is no count`);
  }
  const paleCells = (plot) => all(plot, ".heatmap-label text").filter((one) => getComputedStyle(one).fill === "rgb(68, 68, 68)").map(text);
  // Figures are side by side, with plots that begin at the same height, and no row is half empty.
  const neighbours = (one, other) => one !== other && one.parentNode === other.parentNode &&
    one.getBoundingClientRect().top === other.getBoundingClientRect().top;
  function loneFigures() {
    const figures = all(document, ".figures figure").filter(visible);
    const full = (one) => one.querySelector(".plot").offsetWidth > 0.9 * one.parentNode.offsetWidth;
    return figures.filter((one) => !full(one) && !figures.some((other) => neighbours(one, other)))
      .map((one) => `${one.id} has no neighbour`);
  }
  function uneven() {
    const figures = all(document, ".figures figure").filter(visible);
    const top = (one) => one.querySelector(".plot").getBoundingClientRect().top;
    return figures.flatMap((one) => figures.filter((other) => neighbours(one, other) && Math.abs(top(one) - top(other)) > 1)
      .map((other) => `${one.id} is ${top(one) - top(other)} below ${other.id}`));
  }
  // However wide a table is, its caption is on the screen.
  function cutCaptions() {
    return all(document, "caption:not(.sr-only) span").filter(visible).filter((one) => {
      const [box, frame] = [one.getBoundingClientRect(), one.closest(".scroll").getBoundingClientRect()];
      return box.left < frame.left || box.right > frame.right + 1;
    }).map(text);
  }
  function untitledAxes(plot) {
    return axesOf(plot).filter((axis) => labels(plot, axis).length && !shared(plot, axis))
      .filter((axis) => !(axis.title && (axis.title.text || "").trim())).map((axis) => `${axis._name} has no title`);
  }
  function longNumbers(plot) {
    return all(plot, ".xtick text, .ytick text, .cbaxis text, .annotation-text").map(text)
      .filter((one) => /\d[.,]?(?:\d[.,]?){5,}/.test(one.replace(/\D*$/, "").replace(/\b0\.0*/, "")) && /\.\d{3}/.test(one))
      .map((one) => `${one} has too many digits`);
  }
  // A table shows 0.0 only for a value that is 0, and no size like 16.0625K, not even within a place, except where it
  // tells settings of two runs apart.
  const longSize = (shown) => (shown.match(/\b\d+\.\d+\s?[KMGTP](?:i?B)?\b(?!\/)/g) || [])
    .some((size) => size.replace(/\D/g, "").length > 4);
  function badNumbers() {
    return all(document, "td, tbody th").filter((one) => {
      const shown = text(one);
      if (/^-?0(?:\.0+)?$/.test(shown)) return !Number.isInteger(Number(one.dataset.sort || 0)); // whole numbers also order words
      return longSize(shown) && !one.closest("#differing");
    }).map((one) => `${text(one)} in ${one.closest("table").caption?.textContent.trim()}`);
  }
  function sideways(width) {
    const wide = all(document, "main *").filter((one) => {
      const box = one.getBoundingClientRect();
      return box.width > 0 && (box.right > width + 1 || box.left < 0) && !one.closest(".scroll, pre, .sr-only, .plot, .wide");
    });
    const found = wide.slice(0, 5).map((one) => one.outerHTML.slice(0, 160));
    if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
    return found;
  }
  function undrawn() {
    return all(document, ".plot").filter((one) => visible(one) && !one.querySelector(".main-svg")).map((one) => one.id);
  }
  const parse = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  function ground(one) {
    for (let up = one; up; up = up.parentElement) {
      const colour = parse(getComputedStyle(up).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  }
  // As the rule of axe-core, which takes minutes on long pages (WCAG 2.2, 1.4.3).
  function contrast() {
    const own = (one) => Array.from(one.childNodes).some((node) => node.nodeType === 3 && node.textContent.trim());
    return all(document, "body *").filter((one) => own(one) && visible(one) && !one.closest("svg, .permalink, .sr-only, script"))
      .map((one) => {
        const pair = [light(parse(getComputedStyle(one).color)), light(ground(one))].sort((a, b) => b - a);
        return [(pair[0] + 0.05) / (pair[1] + 0.05), one.outerHTML.slice(0, 120)];
      })
      .filter(([ratio]) => ratio < 4.5).map(([ratio, what]) => `${ratio.toFixed(2)} ${what}`);
  }
  // A line break never separates a number from its unit.
  function looseUnits() {
    const loose = /.{0,40}\d[kMGTP]? (?=(?:%|[nmu\u00b5]?s|min|h|[kMGTP]?(?:B(?:\/s)?|ops\/s|Hz)|[KMGT]iB(?:\/s)?|[MG]T\/s)(?![\w/])).{0,10}/g;
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (texts.nextNode()) {
      if (texts.currentNode.parentNode.closest("pre, code, svg, script, style, noscript, .plot")) continue;
      found.push(...texts.currentNode.data.match(loose) || []);
    }
    return found;
  }
  // An axis has the unit of the tables in its section.
  function unlikeUnits() {
    const units = (shown) => shown.match(/(?<![\w/])(?:[kMGT]?B\/s|[nµm]s)(?![\w/])/g) || [];
    const rate = (unit) => unit.endsWith("B/s");
    const titles = (plot) => [
      ...axesOf(plot).map((axis) => axis.title.text), ...plot._fullData.map((one) => one.colorbar?.title?.text),
      ...(plot._fullLayout.annotations || []).filter((one) => one.name === "title").map((one) => one.text),
    ];
    return all(document, "section.job").flatMap((section) => {
      const heads = all(section, "thead th").filter((one) => !one.closest("figure"));
      const told = new Set(heads.flatMap((one) => units(text(one))));
      const shown = all(section, ".plot.js-plotly-plot").filter(visible)
        .flatMap((plot) => titles(plot).filter(Boolean).flatMap(units).map((unit) => [plot.id, unit]));
      return shown.filter(([, unit]) => !told.has(unit) && [...told].some((one) => rate(one) === rate(unit)))
        .map(([id, unit]) => `${id} is in ${unit}, the tables beside it in ${[...told].join(", ")}`);
    });
  }
  const figures = () => ({
    fewTicks: each(fewTicks), unlabelledX: each(unlabelledX), manySeries: each(manySeries), tallLegend: each(tallLegend), barsOnLog: each(barsOnLog),
    overlaps: each(overlaps), outside: each(outside), mixedColours: mixedColours(), untitledAxes: each(untitledAxes),
    longNumbers: each(longNumbers), undrawn: undrawn(), crossedLabels: each(crossedLabels), strayLabels: each(strayLabels), slantedTicks: each(slantedTicks),
    brokenCounts: each(brokenCounts), paleCells: each(paleCells), loneFigures: loneFigures(), uneven: uneven(),
  });
  return { figures, cutCaptions, badNumbers, looseUnits, unlikeUnits, contrast, sideways, styles, plots };
})();
