// The match: pick an event, and every subscription is a row. Rows that do not want it are struck out, and the predicate
// that did it is named, with the value it saw.

class MatchView {
  constructor(run) {
    this.run = run;
    this.event = null;
    this.events = new Grid(find("events-table"), {
      label: "events-heading",
      key: (row) => row.id,
      width: 420,
      choose: (row) => this.pick(row.id),
      none: "No events.",
      columns: [
        { title: "Event", text: (row) => row.id, width: "6rem" },
        { title: "Time", text: (row) => timeOfDay(row.at), width: "7rem" },
        { title: "Matched", number: true, width: "5.6rem", text: (row) => count(row.matched || 0) },
        { title: "Values", text: (row) => readings(row.values).join(", "), width: "minmax(8rem, 1fr)" },
      ],
    });
    this.rows = new Grid(find("rows-table"), {
      label: "rows-heading",
      key: (row) => `${row.subscription_id} ${row.version}`,
      width: 560,
      choose: (row) => this.detail(row),
      none: "No event is picked.",
      columns: [
        { title: "Subscription", text: (row) => String(row.subscription_id), width: "minmax(7rem, 1fr)", dress: struck },
        { title: "Says", text: (row) => (row.matched ? "✓ matches" : "✗ struck out"), width: "8.5rem", dress: said },
        { title: "By", text: decision, width: "minmax(14rem, 3fr)" },
      ],
    });
    find("hold-events").addEventListener("change", () => this.list());
    find("only-matched").addEventListener("change", () => this.list(true));
  }

  show() {
    if (this.seen !== this.run.revision("events")) this.list();
    const explanation = this.run.explanations.get(this.event);
    if (explanation && explanation !== this.shown) this.explain(explanation);
  }

  /** Show the newest events; not while the reader holds the list, or is in it with pointer or focus. */
  list(anyway = false) {
    const held = find("hold-events").checked || this.events.box.matches(":hover, :focus-within");
    if (held && !anyway && this.events.rows.length) return;
    this.seen = this.run.revision("events");
    const all = [...this.run.events.values()].reverse();
    this.events.show(find("only-matched").checked ? all.filter((event) => event.matched) : all);
  }

  async pick(id) {
    this.event = id;
    // The list moves on under a reader who has found something: hold it.
    find("hold-events").checked = true;
    const event = this.run.events.get(id);
    find("event-values").replaceChildren(...readings((event || {}).values).map((text) => make("span", { textContent: text })));
    find("row-detail").replaceChildren();
    const known = this.run.explanations.get(id);
    if (known) return this.explain(known);
    this.rows.show([]);
    if (this.run.saved) return this.say(`Event ${id} was not explained before this page was saved.`);
    this.say(`Asking why for event ${id}…`);
    try {
      const answer = await fetch(`explain?event=${encodeURIComponent(id)}`);
      const document = await answer.json();
      if (this.event !== id) return undefined;
      if (!answer.ok) return this.say(document.error);
      this.run.explain(document);
      return this.explain(document);
    } catch {
      return this.say("The server does not answer.");
    }
  }

  say(text) {
    write(find("match-summary"), text);
  }

  explain(explanation) {
    this.shown = explanation;
    const matched = explanation.rows.filter((row) => row.matched).length;
    const total = explanation.total || explanation.rows.length;
    const rest = total > explanation.rows.length ? `, the first ${count(explanation.rows.length)} of them below` : "";
    this.say(`Event ${explanation.event}: ${count(matched)} match, ${count(total - matched)} of ${count(total)} struck out${rest}.`);
    this.rows.show(explanation.rows);
  }

  detail(row) {
    const marks = { true: "true", false: "false", null: "unknown" };
    const items = (row.predicates || []).map((one) => {
      const said = marks[one.verdict];
      const seen = Object.entries(one.values || {}).map(([name, value]) => `${name} is ${literal(value)}`).join(", ");
      const item = make(
        "li",
        { className: one.decided ? "decided" : "" },
        make(one.verdict === false ? "s" : "span", { textContent: one.text }),
        " ",
        make("span", { className: `verdict-${said}`, textContent: said }),
        seen ? ` (${seen})` : "",
        one.decided ? " decides" : "",
      );
      item.style.marginLeft = `${1.2 * (one.depth || 0)}rem`;
      return item;
    });
    find("row-detail").replaceChildren(
      make("p", { textContent: `${row.subscription_id}, version ${row.version}: ${row.matched ? "matches" : "does not match"}, ${row.reason}` }),
      make("ul", {}, ...items),
    );
  }
}

/** The predicates that decided, with what they saw. */
function decision(row) {
  const decided = (row.predicates || []).filter((one) => one.decided && (row.matched || one.verdict !== true));
  if (!decided.length) return row.reason;
  return decided
    .map((one) => {
      const seen = Object.entries(one.values || {}).map(([name, value]) => `${name} is ${literal(value)}`);
      return seen.length ? `${one.text} (${seen.join(", ")})` : one.text;
    })
    .join(" and ");
}

function struck(cell, row) {
  cell.classList.toggle("struck", !row.matched);
}

function said(cell, row) {
  cell.classList.toggle("verdict-true", row.matched);
  cell.classList.toggle("verdict-false", !row.matched);
}
