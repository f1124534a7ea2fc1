// A table of which only the visible rows exist: a thousand zones or ten thousand participants cost as much as twenty.
//
// To a screen reader it is a grid with its true number of rows. The keyboard moves an active row (arrows, Page Up and
// Down, Home, End) and chooses it (Enter or Space); a click does both. Heads are buttons that sort.

const ROW_HEIGHT = 32;
const SPARE = 4;
let gridCount = 0;

class Grid {
  /**
   * `columns`: {title, text(row), sort?(row), number?, width?, dress?(cell, row)}; `key(row)` names a row; `largest` is
   * the number of the column by which the rows are sorted at first, the largest first.
   */
  constructor(place, { label, columns, key, choose = () => {}, none = "Nothing yet.", width = 0, short = false, largest = null }) {
    this.columns = columns;
    this.key = key;
    this.choose = choose;
    this.rows = [];
    this.order = null;
    this.descending = false;
    this.active = 0;
    this.chosen = null;
    this.prefix = `grid-${(gridCount += 1)}-`;
    this.template = columns.map((column) => column.width || "minmax(0, 1fr)").join(" ");
    this.heads = make("div", { className: "heads", attributes: { role: "row", "aria-rowindex": "1" } });
    for (const column of columns) this.heads.append(this.head(column));
    this.heads.style.gridTemplateColumns = this.template;
    if (largest !== null) {
      [this.order, this.descending] = [columns[largest], true];
      this.heads.children[largest].setAttribute("aria-sort", "descending");
    }
    this.body = make("div", { className: "body", attributes: { role: "rowgroup" } });
    this.none = make("p", { className: "none", textContent: none });
    this.box = make(
      "div",
      { className: short ? "grid short" : "grid", tabIndex: 0, attributes: { role: "grid", "aria-labelledby": label } },
      make("div", { attributes: { role: "rowgroup" } }, this.heads),
      this.body,
    );
    if (width) this.box.style.setProperty("--grid-width", `${width}px`);
    this.pool = [];
    this.box.hidden = true;
    this.box.addEventListener("scroll", () => this.draw(), { passive: true });
    this.box.addEventListener("keydown", (event) => this.press(event));
    this.body.addEventListener("click", (event) => {
      const line = event.target.closest(".line");
      if (line) this.pick(line.place);
    });
    // A text that is cut off is told whole to the pointer that rests on it.
    this.body.addEventListener("mouseover", (event) => {
      if (event.target.matches(".line > *")) event.target.title = event.target.textContent;
    });
    place.append(this.box, this.none);
  }

  head(column) {
    const button = make("button", { type: "button", textContent: column.title, tabIndex: column.sort ? 0 : -1 });
    const head = make("div", { className: column.number ? "number" : "", attributes: { role: "columnheader" } }, button);
    if (column.sort) {
      button.addEventListener("click", () => {
        this.descending = this.order === column ? !this.descending : Boolean(column.number);
        this.order = column;
        for (const each of this.heads.children) each.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
        this.show(this.given);
      });
    } else button.disabled = true;
    return head;
  }

  /** Show these rows; what is active and chosen stays with its row. */
  show(rows) {
    this.given = rows;
    const wasActive = this.rows[this.active] ? this.key(this.rows[this.active]) : null;
    if (this.order) {
      const value = this.order.sort;
      const sign = this.descending ? -1 : 1;
      rows = rows.slice().sort((a, b) => {
        const [left, right] = [value(a), value(b)];
        return left < right ? -sign : left > right ? sign : 0;
      });
    }
    this.rows = rows;
    // A list that moves under the reader is followed only while the reader is in it.
    if (wasActive !== null && document.activeElement === this.box) {
      const place = rows.findIndex((row) => this.key(row) === wasActive);
      this.active = place < 0 ? Math.min(this.active, Math.max(0, rows.length - 1)) : place;
    } else this.active = Math.min(this.active, Math.max(0, rows.length - 1));
    this.box.setAttribute("aria-rowcount", String(rows.length + 1));
    this.body.style.height = `${rows.length * ROW_HEIGHT}px`;
    this.none.hidden = rows.length > 0;
    this.box.hidden = !rows.length;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW_HEIGHT) - SPARE);
    const last = Math.min(this.rows.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW_HEIGHT) + SPARE);
    const wanted = Math.max(0, last - first);
    while (this.pool.length < wanted) this.pool.push(this.line());
    while (this.pool.length > wanted) this.pool.pop().remove();
    this.pool.forEach((line, step) => this.dress(line, first + step));
    // A row that is scrolled away does not exist, and must not be pointed at.
    if (first <= this.active && this.active < last) this.box.setAttribute("aria-activedescendant", `${this.prefix}${this.active}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  line() {
    const line = make("div", { className: "line", attributes: { role: "row" } });
    line.style.gridTemplateColumns = this.template;
    line.texts = [];
    for (const column of this.columns) {
      line.append(make("span", { className: column.number ? "number" : "", attributes: { role: "gridcell" } }));
    }
    this.body.append(line);
    return line;
  }

  /** Make a line show a row; what it shows already is left alone, since the page is asked for nothing then. */
  dress(line, place) {
    const row = this.rows[place];
    if (line.place !== place) {
      line.place = place;
      line.id = `${this.prefix}${place}`;
      line.style.top = `${place * ROW_HEIGHT}px`;
      line.setAttribute("aria-rowindex", String(place + 2));
    }
    const chosen = this.chosen !== null && this.key(row) === this.chosen;
    if (line.chosen !== chosen) {
      line.chosen = chosen;
      line.setAttribute("aria-selected", String(chosen));
    }
    line.classList.toggle("active", place === this.active);
    this.columns.forEach((column, number) => {
      const cell = line.children[number];
      const text = column.text(row);
      if (line.texts[number] !== text) {
        line.texts[number] = text;
        cell.textContent = text;
      }
      if (column.dress) column.dress(cell, row);
    });
  }

  press(event) {
    if (event.target !== this.box || !this.rows.length) return;
    const page = Math.max(1, Math.floor(this.box.clientHeight / ROW_HEIGHT) - 2);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.rows.length, End: this.rows.length };
    if (event.key in moves) this.move(this.active + moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.pick(this.active);
    else return;
    event.preventDefault();
  }

  move(place) {
    this.active = Math.max(0, Math.min(place, this.rows.length - 1));
    const top = this.active * ROW_HEIGHT;
    const room = this.box.clientHeight - 2 * ROW_HEIGHT;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top > this.box.scrollTop + room) this.box.scrollTop = top - room;
    this.draw();
  }

  pick(place) {
    const row = this.rows[place];
    if (!row) return;
    this.active = place;
    this.chosen = this.key(row);
    this.draw();
    afterPaint(() => this.choose(row));
  }

  /** Mark a row that was chosen elsewhere, and bring it into view. */
  mark(key) {
    this.chosen = key;
    const place = this.rows.findIndex((row) => this.key(row) === key);
    if (place >= 0) this.move(place);
    else this.draw();
  }
}
