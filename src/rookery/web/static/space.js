// The space: zones colored by what they carry, recent events, and one event's path: Spanhop beside greedy.

const DOTS = 400;

class SpaceView {
  constructor(run) {
    this.run = run;
    this.canvas = find("space-canvas");
    this.event = null;
    this.zone = null;
    this.redraw = () => this.draw();
    const carried = (name) => (row) => row[name] || 0;
    // What only live brokers say: a dash where nobody has said it.
    const told = (name, write) => (row) => (row[name] === undefined || row[name] === null ? "–" : write(row[name]));
    this.zones = new Grid(find("zones-table"), {
      label: "zones-heading",
      key: (row) => row.id,
      width: 1100,
      choose: (row) => this.chooseZone(row.id),
      none: "No zones.",
      largest: 4,
      columns: [
        { title: "Zone", text: (row) => row.id, sort: (row) => row.id, width: "minmax(5rem, 1fr)" },
        { title: "Owner", text: (row) => row.owner || "", sort: (row) => Number(row.owner) || row.owner || "", width: "9rem" }, // an address and a port
        { title: "Load", number: true, width: "5.5rem", text: (row) => count(row.load || 0), sort: carried("load") },
        { title: "Subscriptions", number: true, width: "8rem", text: (row) => count(row.subscriptions || 0), sort: carried("subscriptions") },
        { title: "Events", number: true, width: "6rem", text: (row) => count(this.run.heat.get(row.id) || 0), sort: (row) => this.run.heat.get(row.id) || 0 },
        { title: "Events/s", number: true, width: "5.5rem", text: told("rate", amount), sort: carried("rate") },
        { title: "In flight", number: true, width: "5.5rem", text: told("backlog", count), sort: carried("backlog") },
        { title: "Takeovers", number: true, width: "6rem", text: told("takeovers", count), sort: carried("takeovers") },
        { title: "At, ms", width: "8rem", text: (row) => (row.coordinates || []).map((one) => one.toFixed(1)).join(", ") || "–" },
        { title: "Error", number: true, width: "4.5rem", text: told("error", (one) => one.toFixed(2)), sort: carried("error") },
        { title: "Stretch", number: true, width: "5rem", text: told("stretch", (one) => one.toFixed(2)), sort: carried("stretch") },
      ],
    });
    const hops = (scheme) => (row) => (row.paths[scheme] ? row.paths[scheme].length - 1 : -1);
    const shown = (scheme) => (row) => (row.paths[scheme] ? count(row.paths[scheme].length - 1) : "–");
    this.routed = new Grid(find("routes-table"), {
      label: "routes-heading",
      key: (row) => row.id,
      width: 520,
      short: true,
      choose: (row) => this.chooseEvent(row.id),
      none: "No event was recorded with its paths.",
      columns: [
        { title: "Event", text: (row) => row.id, width: "minmax(6rem, 1fr)" },
        { title: "Owner's zone", text: (row) => row.event.zone || "–", width: "minmax(6rem, 1fr)" },
        { title: "Spanhop hops", number: true, width: "8rem", text: shown("spanhop"), sort: hops("spanhop") },
        { title: "Greedy hops", number: true, width: "8rem", text: shown("greedy"), sort: hops("greedy") },
        { title: "Values", text: (row) => readings(row.event.values).join(", "), width: "minmax(8rem, 3fr)" },
      ],
    });
    for (const id of ["zone-color", "axis-across", "axis-up", "show-events"]) find(id).addEventListener("change", () => soon(this.redraw));
    find("next-route").addEventListener("click", () => this.next());
    this.canvas.addEventListener("click", (event) => this.hit(event));
  }

  show() {
    const { run } = this;
    write(find("zones-total"), count(run.zones.size));
    this.axes();
    if (this.seen !== run.revision("routes")) {
      this.seen = run.revision("routes");
      this.listRoutes();
    }
    const state = run.revision("zones", "heat", "events", "space");
    if (this.state === state) return;
    this.state = state;
    this.zones.show([...run.zones.values()]);
    // Of live brokers the events a second, of others those that were shown.
    const rated = [...run.zones.values()].some((zone) => zone.rate);
    const carried = [...run.zones.values()].map((zone) => (rated ? zone.rate || 0 : run.heat.get(zone.id) || 0));
    const total = carried.reduce((sum, one) => sum + one, 0);
    write(find("zones-skew"), total ? `${amount((Math.max(...carried) * carried.length) / total)}` : "–");
    soon(this.redraw);
  }

  listRoutes() {
    const rows = [];
    const sums = { spanhop: [0, 0], greedy: [0, 0] };
    for (const [id, paths] of this.run.routes) {
      const event = this.run.events.get(id);
      if (!event) continue;
      rows.push({ id, paths, event });
      for (const [scheme, sum] of Object.entries(sums)) {
        if (!paths[scheme]) continue;
        sum[0] += paths[scheme].length - 1;
        sum[1] += 1;
      }
    }
    this.routed.show(rows.reverse());
    for (const [scheme, [hops, events]] of Object.entries(sums)) write(find(`${scheme}-mean`), events ? (hops / events).toFixed(2) : "–");
  }

  axes() {
    const names = this.run.space ? this.run.space.axes.map((axis) => axis.attribute) : [];
    if (this.named === names.join(" ")) return;
    this.named = names.join(" ");
    const options = () => names.map((name, number) => make("option", { value: String(number), textContent: name }));
    find("axis-across").replaceChildren(...options());
    find("axis-up").replaceChildren(...options());
    find("axis-up").value = String(Math.min(1, names.length - 1));
  }

  chosenAxes() {
    return [Number(find("axis-across").value) || 0, Number(find("axis-up").value) || 0];
  }

  weight(zone) {
    const by = find("zone-color").value;
    return by === "events" ? this.run.heat.get(zone.id) || 0 : zone[by] || 0;
  }

  /** The frame of the picture: margins hold the axes' names and ranges. */
  frame(width, height) {
    const [left, bottom, top, right] = [46, height - 30, 8, width - 8];
    return { left, bottom, top, right, x: (share) => left + share * (right - left), y: (share) => bottom - share * (bottom - top) };
  }

  draw() {
    const page = begin(this.canvas);
    if (!page || !this.run.space) return;
    const { context, width, height } = page;
    const [across, up] = this.chosenAxes();
    const at = this.frame(width, height);
    const zones = [...this.run.zones.values()].filter((zone) => zone.lower && zone.lower.length > Math.max(across, up));
    const most = zones.reduce((sum, zone) => Math.max(sum, this.weight(zone)), 0) || 1;
    const [cold, hot] = [color("cold-zone"), color("hot-zone")];
    // Shades in steps: a hundred colors are as good as a thousand, and cost a tenth.
    const shades = Array.from({ length: 33 }, (_, step) => mix(cold, hot, step / 32));
    const box = (zone) => {
      const [x, y] = [at.x(zone.lower[across]), at.y(zone.upper[up])];
      return [x, y, at.x(zone.upper[across]) - x, at.y(zone.lower[up]) - y];
    };
    for (const zone of zones) {
      context.fillStyle = shades[Math.round(32 * Math.sqrt(this.weight(zone) / most))];
      context.fillRect(...box(zone));
    }
    context.strokeStyle = color("line");
    context.lineWidth = zones.length > 400 ? 0.5 : 1;
    context.beginPath();
    for (const zone of zones) context.rect(...box(zone));
    context.stroke();
    if (find("show-events").checked) this.dots(context, at, across, up);
    const chosen = this.run.zones.get(this.zone);
    if (chosen) {
      context.strokeStyle = color("ink");
      context.lineWidth = 3;
      context.strokeRect(...box(chosen));
    }
    this.paths(context, at, across, up);
    this.labels(context, at, across, up);
  }

  dots(context, at, across, up) {
    context.fillStyle = color("dot");
    const recent = [...this.run.events.values()].slice(-DOTS);
    recent.forEach((event, place) => {
      if (!event.point || event.point.length <= Math.max(across, up)) return;
      context.globalAlpha = 0.15 + (0.75 * place) / recent.length;
      context.fillRect(at.x(event.point[across]) - 1.5, at.y(event.point[up]) - 1.5, 3, 3);
    });
    context.globalAlpha = 1;
  }

  paths(context, at, across, up) {
    const paths = this.run.routes.get(this.event);
    const event = this.run.events.get(this.event);
    if (!paths || !event) return;
    const middle = (id) => {
      const zone = this.run.zones.get(id);
      return zone && [at.x((zone.lower[across] + zone.upper[across]) / 2), at.y((zone.lower[up] + zone.upper[up]) / 2)];
    };
    for (const scheme of ["greedy", "spanhop"]) {
      const spots = (paths[scheme] || []).map(middle).filter(Boolean);
      if (!spots.length) continue;
      // The last leg goes to the event itself.
      if (event.point) spots.push([at.x(event.point[across]), at.y(event.point[up])]);
      context.beginPath();
      spots.forEach(([x, y], place) => (place ? context.lineTo(x, y) : context.moveTo(x, y)));
      // A light seam below, so that the path is seen on a zone of any color.
      context.strokeStyle = color("raised");
      context.lineWidth = 7;
      context.stroke();
      context.strokeStyle = color(scheme);
      context.lineWidth = 3;
      context.setLineDash(scheme === "greedy" ? [7, 5] : []);
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = color(scheme);
      for (const [x, y] of spots.slice(0, -1)) context.fillRect(x - 3.5, y - 3.5, 7, 7);
      context.beginPath();
      context.arc(...spots[spots.length - 1], 5, 0, 7);
      context.fill();
    }
  }

  labels(context, at, across, up) {
    const [x, y] = [this.run.space.axes[across], this.run.space.axes[up]];
    context.fillStyle = color("quiet");
    context.textBaseline = "alphabetic";
    const range = (axis) => [axis.low ?? 0, axis.high ?? 1];
    context.textAlign = "left";
    context.fillText(amount(range(x)[0]), at.left, at.bottom + 16);
    context.textAlign = "right";
    context.fillText(amount(range(x)[1]), at.right, at.bottom + 16);
    context.textAlign = "center";
    context.fillText(x.attribute, (at.left + at.right) / 2, at.bottom + 18);
    context.textAlign = "right";
    context.fillText(amount(range(y)[0]), at.left - 5, at.bottom);
    context.fillText(amount(range(y)[1]), at.left - 5, at.top + 10);
    context.save();
    context.translate(14, (at.top + at.bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(y.attribute, 0, 0);
    context.restore();
  }

  hit(event) {
    const bounds = this.canvas.getBoundingClientRect();
    const at = this.frame(bounds.width, bounds.height);
    const [across, up] = this.chosenAxes();
    const x = (event.clientX - bounds.left - at.left) / (at.right - at.left);
    const y = (at.bottom - (event.clientY - bounds.top)) / (at.bottom - at.top);
    for (const zone of this.run.zones.values()) {
      if (zone.lower[across] <= x && x < zone.upper[across] && zone.lower[up] <= y && y < zone.upper[up]) {
        this.zones.mark(zone.id);
        this.chooseZone(zone.id);
        return;
      }
    }
  }

  chooseZone(id) {
    this.zone = id;
    soon(this.redraw);
  }

  chooseEvent(id) {
    this.event = id;
    const paths = this.run.routes.get(id) || {};
    const said = ["spanhop", "greedy"].filter((scheme) => paths[scheme]).map((scheme) => `${scheme} ${count(paths[scheme].length - 1)} hops`);
    write(find("route-text"), `Event ${id}: ${said.join(", ") || "no path was recorded"}.`);
    soon(this.redraw);
  }

  next() {
    const rows = this.routed.rows;
    if (!rows.length) return;
    const place = rows.findIndex((row) => row.id === this.event);
    this.routed.pick((place + 1) % rows.length);
    this.routed.move(this.routed.active);
  }
}
