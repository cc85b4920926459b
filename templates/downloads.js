(function () {
  "use strict";
  const info = document.getElementById("downloads");

  // ---- page data ----
  async function inflate(id) {
    const coded = document.getElementById(id).textContent;
    const bytes = Uint8Array.from(atob(coded), (mark) => mark.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  // ---- CSV, in the same form as in the CSV report ----
  // A cell that a spreadsheet would treat as a formula gets an apostrophe in front.
  const FORMULA = /^(?:[=@\t\n＝＋－＠]|[+-](?![\d.]*(?:e[+-]?\d+)?$)[\s\S])/;
  const visible = (mark) => ({ "\n": mark, "\t": mark, "\r": " " })[mark] || "�";
  function csvCell(value) {
    let text = String(value).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, visible);
    if (typeof value === "string" && FORMULA.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }
  const csv = (rows) => rows.map((row) => `${row.map(csvCell).join(",")}\n`).join("");

  // Writes a number as Python writes a float: 1.0, 9.81e-08.
  function float(value) {
    if (value === null || value === undefined) return "";
    const [digits, power] = value.toExponential().split("e");
    if (power < -4 || power >= 16) return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
    return Number.isInteger(value) ? `${value}.0` : String(value);
  }
  function scalar(value) {
    if (value === null || value === undefined) return "";
    if (typeof value === "boolean") return value ? "True" : "False";
    if (typeof value === "number" && !Number.isInteger(value)) return float(value);
    return Array.isArray(value) ? value.map(scalar).join(" ") : value;
  }
  function recordsCsv({ run, records }) {
    const { columns, points, metrics } = records;
    const rows = records.rows.map((cells) => Object.fromEntries(columns.map((name, index) => [name, cells[index]])));
    const keysOf = (parts) => [...new Set(parts.flatMap((part) => Object.keys(part)))];
    const settings = keysOf([...new Set(rows.map((row) => points[row.point_id]))]);
    const places = keysOf(rows.map((row) => row.coords));
    const line = (row) => {
      const { unit, better } = metrics[`${row.benchmark}.${row.metric}`];
      const [low, high] = row.ci95 || [];
      const [n, median, mad, min, max] = row.n_median_mad_min_max || [];
      const middle = n === undefined ? null : median ?? row.value;
      return [
        run.run, run.plan, row.host, row.id, row.benchmark, row.version, row.point_id, row.repeat,
        ...settings.map((key) => scalar(points[row.point_id][key])), ...places.map((key) => scalar(row.coords[key])),
        row.metric, float(row.value), unit, better, scalar(n),
        ...[middle, mad, low, high, min, max].map(float), row.flags.join(" "),
        row.raw || `jobs/${row.host}/${row.id}/${row.point_id}/r${row.repeat}`,
      ];
    };
    const head = [
      "run", "plan", "host", "id", "benchmark", "version", "point_id", "repeat",
      ...settings.map((key) => `point.${key}`), ...places.map((key) => `at.${key}`),
      "metric", "value", "unit", "better", "n", "median", "mad", "ci95_low", "ci95_high", "min", "max", "flags", "raw",
    ];
    return csv([head, ...rows.map(line)]);
  }

  // ---- files ----
  const KINDS = {
    csv: { ending: "csv", type: "text/csv", text: async () => recordsCsv(JSON.parse(await inflate("run-data-gzip"))) },
    json: { ending: "json", type: "application/json", text: () => inflate("run-data-gzip") },
    plan: { ending: "yaml", type: "text/yaml", text: () => inflate("plan-gzip") },
  };
  async function download(button) {
    const { ending, type, text } = KINDS[button.dataset.download];
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([await text()], { type: `${type};charset=utf-8` }));
    link.download = `${info.dataset.name}.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }
  for (const button of document.querySelectorAll("[data-download]")) {
    button.addEventListener("click", async () => {
      try {
        await download(button);
      } catch (error) {
        document.getElementById("announce").textContent = `The file could not be created: ${error.message}`;
      }
    });
  }

  // ---- raw files: links, if the page is in the folder of its run ----
  const folder = decodeURIComponent(location.pathname).split("/").at(-2);
  if (info && info.dataset.run && (folder === info.dataset.run || folder === "latest")) {
    for (const place of document.querySelectorAll("[data-raw]")) {
      const link = document.createElement("a");
      link.href = place.dataset.raw;
      link.append(...place.childNodes);
      place.append(link);
    }
  }

  window.asct = { inflate, csv };
})();
