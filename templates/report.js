(function () {
  "use strict";
  const root = document.documentElement;
  const announcer = document.getElementById("announce");
  const announce = (text) => { announcer.textContent = text; };

  // ---- colors ----
  function showChoice() {
    const choice = root.dataset.theme || "auto";
    for (const button of document.querySelectorAll("[data-theme-choice]")) {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === choice));
    }
  }
  function choose(choice) {
    if (choice === "auto") delete root.dataset.theme;
    else root.dataset.theme = choice;
    try {
      localStorage.setItem("asct-theme", choice);
    } catch (error) {
      // Without access to storage, the choice is lost when the page is closed.
    }
    showChoice();
    document.dispatchEvent(new Event("asct-colors")); // Redraws the figures.
  }
  for (const button of document.querySelectorAll("[data-theme-choice]")) {
    button.addEventListener("click", () => choose(button.dataset.themeChoice));
  }
  showChoice();

  // ---- tables: sort, filter, copy, and keep order and filter in the link ----
  const cellText = (cell) => cell.textContent.trim().replace(/\s+/g, " ");
  function sortKey(row, index) {
    const cell = row.cells[index];
    const key = cell.dataset.sort ?? cellText(cell);
    const number = Number(key);
    return key !== "" && !Number.isNaN(number) ? number : key || cellText(cell);
  }
  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number") return -1;
    if (typeof b === "number") return 1;
    return a.localeCompare(b, undefined, { numeric: true });
  }
  function sortBy(table, index, direction) {
    const heads = table.tHead.rows[0].cells;
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[index].setAttribute("aria-sort", direction);
    const sign = direction === "ascending" ? 1 : -1;
    const rows = Array.from(table.tBodies[0].rows);
    rows.sort((a, b) => sign * compare(sortKey(a, index), sortKey(b, index)));
    table.tBodies[0].append(...rows);
  }
  function filterRows(block, text) {
    const wanted = text.trim().toLowerCase();
    let shown = 0;
    const rows = block.querySelectorAll("tbody tr");
    for (const row of rows) {
      row.hidden = wanted !== "" && !cellText(row).toLowerCase().includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    announce(wanted ? `${shown} of ${rows.length} rows` : "");
  }
  function remember(block) {
    const state = new URLSearchParams();
    const input = block.querySelector("input[type=search]");
    if (input && input.value) state.set("filter", input.value);
    const sorted = block.querySelector("th[aria-sort]");
    if (sorted) state.set("sort", `${sorted.cellIndex},${sorted.getAttribute("aria-sort")}`);
    const query = state.toString();
    history.replaceState(null, "", `#${block.id}${query ? `?${query}` : ""}`);
  }
  function restore() {
    const [id, query] = location.hash.slice(1).split("?");
    const target = id && document.getElementById(decodeURIComponent(id));
    if (!target) return;
    for (let up = target; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    const state = new URLSearchParams(query || "");
    const input = target.querySelector("input[type=search]");
    if (input && state.has("filter")) {
      input.value = state.get("filter");
      filterRows(target, input.value);
    }
    const [index, direction] = (state.get("sort") || "").split(",");
    const table = target.querySelector("table");
    const known = direction === "ascending" || direction === "descending";
    if (table && known && table.tHead.rows[0].cells[Number(index)]) sortBy(table, Number(index), direction);
    if (query) target.scrollIntoView();
  }
  function matrix(table) {
    const rows = [table.tHead.rows[0], ...table.tBodies[0].rows].filter((row) => !row.hidden);
    return rows.map((row) => Array.from(row.cells, cellText));
  }
  function toMarkdown(rows) {
    // As in the Markdown report, mentions, issue numbers and addresses must not turn into links.
    const cell = (text) => text.replace(/([\\`*_{}[\]<>#|~!$@&])/g, "\\$1")
      .replace(/\\@(?=[\p{L}\p{N}_])|(?:\\#|\bGH-)(?=\d)/giu, "$&<!-- -->")
      .replace(/\bwww\./gi, "www\\.").replace(/\b(https?|ftp):\/\//gi, "$1:\\/\\/");
    const line = (row) => `| ${row.map(cell).join(" | ")} |`;
    return [line(rows[0]), line(rows[0].map(() => "---")), ...rows.slice(1).map(line)].join("\n") + "\n";
  }
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch (error) {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }
  function prepareTable(block) {
    const table = block.querySelector("table");
    for (const head of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "ascending";
        sortBy(table, head.cellIndex, up ? "descending" : "ascending");
        remember(block);
      });
      head.append(button);
    }
    const input = block.querySelector("input[type=search]");
    if (input) {
      input.addEventListener("input", () => {
        filterRows(block, input.value);
        remember(block);
      });
    }
    for (const button of block.querySelectorAll("[data-copy]")) {
      const name = button.textContent;
      button.addEventListener("click", async () => {
        const rows = matrix(table);
        const done = await copy(button.dataset.copy === "csv" ? window.asct.csv(rows) : toMarkdown(rows));
        button.textContent = done ? "Copied" : "Copying was blocked";
        announce(button.textContent);
        setTimeout(() => { button.textContent = name; }, 1600);
      });
    }
  }
  function showMore(block) {
    // States how many columns are hidden on the right and how many rows there are, because otherwise the table may seem to
    // end at the edge.
    const box = block.querySelector(".scroll");
    const edge = box.getBoundingClientRect().right;
    const table = block.querySelector("table");
    const heads = Array.from(table.tHead.rows[0].cells);
    const cut = box.scrollWidth > box.clientWidth + 1
      ? heads.filter((head) => head.getBoundingClientRect().right > edge + 2).length : 0;
    block.classList.toggle("cut", cut > 0);
    const below = box.scrollHeight - box.clientHeight - box.scrollTop > 2;
    const rows = below ? `${table.tBodies[0].rows.length} rows ↓` : "";
    const columns = cut ? `${cut} more column${cut === 1 ? "" : "s"} →` : "";
    block.querySelector(".more").textContent = [rows, columns].filter(Boolean).join(" · ");
  }
  const blocks = Array.from(document.querySelectorAll(".table-block"));
  const resized = new ResizeObserver((entries) => {
    for (const entry of entries) showMore(entry.target.parentElement);
  });
  for (const block of blocks) {
    prepareTable(block);
    const box = block.querySelector(".scroll");
    box.addEventListener("scroll", () => showMore(block), { passive: true });
    resized.observe(box);
  }
  window.addEventListener("hashchange", restore);
  restore();

  // ---- printed tables: a table that is wider than the page is split by columns ----
  const PAPER_WIDTH = 680; // The width of the text area on A4, in CSS pixels.
  function columnWidths(table, { wraps, dense }) {
    // Lays out one row, in its printed form, with the longest text of each column. If text wraps, numbers and names of
    // metrics still do not.
    const rows = Array.from(table.rows);
    const mayWrap = table.matches(".numeric") ? ".long" : ":not(.right, :has(b))";
    const probe = document.createElement("table");
    probe.className = dense ? "probe dense" : "probe";
    const head = probe.createTHead().insertRow();
    const body = probe.createTBody().insertRow();
    for (const cell of rows[0].cells) {
      const index = cell.cellIndex;
      const longest = rows.slice(1).map((row) => row.cells[index])
        .reduce((one, two) => (two.textContent.trim().length > one.textContent.trim().length ? two : one),
        document.createElement("td"));
      head.append(cell.cloneNode(true));
      const text = document.createElement("div");
      text.append(...longest.cloneNode(true).childNodes);
      text.className = wraps && longest.matches(mayWrap) ? "wrapped" : longest.classList.contains("long") ? "long" : "";
      body.insertCell().append(text);
    }
    document.body.append(probe);
    const widths = Array.from(body.cells, (cell) => cell.getBoundingClientRect().width);
    probe.remove();
    return widths;
  }
  function columnGroups(widths, keys, most) {
    // Every group repeats the columns that name a row.
    const named = widths.slice(0, keys).reduce((sum, width) => sum + width, 0);
    const groups = [[]];
    let used = named;
    for (let index = keys; index < widths.length; index += 1) {
      if (groups.at(-1).length && used + widths[index] > most) {
        groups.push([]);
        used = named;
      }
      groups.at(-1).push(index);
      used += widths[index];
    }
    return groups;
  }
  function evenGroups(widths, keys) {
    // Returns as few groups as possible, all of about the same width.
    const groups = columnGroups(widths, keys, PAPER_WIDTH);
    for (let most = PAPER_WIDTH; ; most -= 10) {
      const narrower = columnGroups(widths, keys, most - 10);
      if (narrower.length > groups.length || most < 20) return columnGroups(widths, keys, most);
    }
  }
  function groupsOf(block, table) {
    // Text wraps, and then the type is smaller, if this keeps the table in one piece. In tables of sentences, text always
    // wraps.
    const stack = block.matches(".stack");
    const layouts = [{ wraps: stack }, { wraps: true }, { wraps: true, dense: true }];
    const groups = layouts.map((layout) => evenGroups(columnWidths(table, layout), Number(table.dataset.keys)));
    const chosen = Math.max(0, groups.findIndex((found) => found.length === 1));
    block.classList.toggle("wrap", chosen > 0 && !table.matches(".numeric"));
    block.classList.toggle("dense", chosen === 2);
    return groups[chosen];
  }
  function withColumns(table, group) {
    const kept = new Set([...Array(Number(table.dataset.keys)).keys(), ...group]);
    const copy = table.cloneNode(true);
    for (const row of copy.rows) {
      for (const cell of Array.from(row.cells).filter((one) => !kept.has(one.cellIndex))) cell.remove();
    }
    copy.caption.className = "";
    const [first, last] = [group[0] + 1, group.at(-1) + 1];
    const which = first === last ? `column ${first}` : `columns ${first} to ${last}`;
    copy.caption.firstChild.append(` (${which} of ${table.rows[0].cells.length})`);
    return copy;
  }
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = Array.from(document.querySelectorAll("details:not([open]):not([data-screen-only])"));
    for (const item of closed) item.open = true;
    for (const block of blocks) {
      if (block.closest("details:not([open])")) continue; // It is not printed.
      const table = block.querySelector("table");
      const groups = groupsOf(block, table);
      if (groups.length === 1) continue;
      block.classList.add("split");
      for (const group of groups) block.querySelector(".scroll").append(withColumns(table, group));
    }
  });
  window.addEventListener("afterprint", () => {
    for (const item of closed) item.open = false;
    for (const block of document.querySelectorAll(".table-block.split")) {
      block.classList.remove("split");
      for (const copy of Array.from(block.querySelectorAll("table")).slice(1)) copy.remove();
    }
  });
})();
