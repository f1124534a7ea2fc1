// Small things that everything uses: finding and making elements, and writing numbers for people.

const find = (id) => document.getElementById(id);

/** Make an element; `properties` are properties, except `attributes` and `listeners`. */
function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  const { attributes = {}, listeners = {}, ...plain } = properties;
  Object.assign(node, plain);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  for (const [name, listener] of Object.entries(listeners)) node.addEventListener(name, listener);
  node.append(...children);
  return node;
}

/** Change a text only if it is another one: screen readers and layout hear of real changes alone. */
function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const WHOLE = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

const count = (value) => WHOLE.format(Math.round(value));
const amount = (value) => (value >= 1000 ? WHOLE.format(Math.round(value)) : SHORT.format(value));

/** Octets with a unit; decimal, as networks are measured. */
function octets(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let place = 0;
  while (value >= 1000 && place < units.length - 1) {
    value /= 1000;
    place += 1;
  }
  return `${place ? SHORT.format(value) : count(value)} ${units[place]}`;
}

/** A moment of the run (microseconds since 1970) as time of day. */
function timeOfDay(at) {
  return at ? new Date(at / 1000).toISOString().slice(11, 21) : "–";
}

function seconds(value) {
  return value < 1 ? `${SHORT.format(value * 1000)} ms` : `${SHORT.format(value)} s`;
}

/** A value of an event, as it is written in a subscription. */
function literal(value) {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "string") return `'${value}'`;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const readings = (values) => Object.entries(values || {}).map(([name, value]) => `${name} ${literal(value)}`);

/** Fill the body of a plain table: one array of cells per row; a cell is a text, or {text, kind}. */
function fill(body, rows) {
  const shown = JSON.stringify(rows);
  if (body.dataset.shown === shown) return;
  body.dataset.shown = shown;
  body.replaceChildren(
    ...rows.map((cells) =>
      make(
        "tr",
        {},
        ...cells.map((cell, place) => {
          const plain = typeof cell !== "object";
          const node = make(place ? "td" : "th", { textContent: plain ? cell : cell.text });
          if (!place) node.scope = "row";
          if (!plain && cell.kind) node.className = cell.kind;
          return node;
        }),
      ),
    ),
  );
}
