// The run as the page knows it: a snapshot, then what changed. Bounded, as the server's own state is.

const MOST_EVENTS = 1000;
const MOST_BATCHES = 1000;
const MOST_NOTES = 200;
const KEYED = ["participants", "endpoints", "edges", "islands", "traffic", "zones", "ledger", "skew", "heat"];

class Run {
  constructor() {
    this.clear();
  }

  clear() {
    for (const name of KEYED) this[name] = new Map();
    this.events = new Map();
    this.routes = new Map();
    this.explanations = new Map();
    this.batches = [];
    this.notes = [];
    this.space = null;
    this.title = "";
    this.now = 0;
    this.status = {};
    this.totals = { events: 0, subscriptions: 0, refused: 0, rejected: 0 };
    this.rate = 0;
    this.marks = [];
    // How often each part has changed: a view draws again only what moved.
    this.revisions = {};
  }

  /** Take a message in: both a snapshot and a change. */
  apply(message) {
    if (message.reset) this.clear();
    for (const name of KEYED) {
      if (!message[name]) continue;
      const table = this[name];
      for (const [key, value] of Object.entries(message[name])) {
        if (value === null) table.delete(key);
        else table.set(key, value);
      }
      this.moved(name);
    }
    this.addEvents(message.events || []);
    for (const route of message.routes || []) {
      if (!this.routes.has(route.event)) this.routes.set(route.event, {});
      this.routes.get(route.event)[route.scheme] = route.zones;
      this.moved("routes");
    }
    for (const explanation of message.explanations || []) this.explain(explanation);
    if (message.batches) {
      this.batches = this.batches.concat(message.batches).slice(-MOST_BATCHES);
      this.moved("batches");
    }
    if (message.notes) {
      this.notes = this.notes.concat(message.notes).slice(-MOST_NOTES);
      this.moved("notes");
    }
    if (message.space) {
      this.space = message.space;
      this.moved("space");
    }
    if (message.title) this.title = message.title;
    this.totals = message.totals || this.totals;
    this.status = message.status || this.status;
    this.now = message.now || this.now;
    this.measure();
  }

  addEvents(events) {
    if (!events.length) return;
    for (const event of events) {
      this.events.delete(event.id);
      this.events.set(event.id, event);
    }
    while (this.events.size > MOST_EVENTS) {
      const [oldest] = this.events.keys();
      this.events.delete(oldest);
      this.routes.delete(oldest);
      this.explanations.delete(oldest);
    }
    this.moved("events");
  }

  explain(explanation) {
    this.explanations.set(explanation.event, explanation);
    this.moved("explanations");
  }

  moved(name) {
    this.revisions[name] = (this.revisions[name] || 0) + 1;
  }

  /** A text that changes when one of these parts has. */
  revision(...names) {
    return names.map((name) => this.revisions[name] || 0).join(" ");
  }

  /** Events a second, over the last two seconds of the run. */
  measure() {
    const marks = this.marks;
    if (marks.length && this.now < marks[marks.length - 1][0]) marks.length = 0;
    marks.push([this.now, this.totals.events]);
    while (marks.length > 2 && this.now - marks[0][0] > 2_000_000) marks.shift();
    const [at, events] = marks[0];
    this.rate = this.now > at ? ((this.totals.events - events) * 1_000_000) / (this.now - at) : 0;
  }
}
