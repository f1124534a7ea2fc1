// The network: participants by island, the pairs among them, what discovery costs, and whom it made meet for nothing.

class NetworkView {
  constructor(run) {
    this.run = run;
    this.chosen = null;
    this.redraw = () => this.draw();
    this.canvas = find("network-canvas");
    this.places = new Map();
    this.table = new Grid(find("participants-table"), {
      label: "participants-heading",
      key: (row) => row.id,
      width: 660,
      choose: (row) => this.choose(row.id),
      none: "No participants. A DDS domain, a simulation or a recorded run brings them.",
      columns: [
        { title: "Name", text: (row) => row.name || row.id, sort: (row) => row.name || row.id, width: "minmax(7rem, 2fr)" },
        { title: "Island", text: (row) => row.island || "", sort: (row) => row.island || "" },
        { title: "Vendor", text: (row) => row.vendor || "", sort: (row) => row.vendor || "", width: "minmax(6rem, 1fr)" },
        { title: "Writers", number: true, width: "5rem", text: (row) => count(row.writers || 0), sort: (row) => row.writers || 0 },
        { title: "Readers", number: true, width: "5.2rem", text: (row) => count(row.readers || 0), sort: (row) => row.readers || 0 },
        { title: "Contacts", number: true, width: "5.6rem", text: (row) => count(row.contacts || 0), sort: (row) => row.contacts || 0 },
        { title: "False", number: true, width: "4.5rem", text: (row) => count(row.false_contacts || 0), sort: (row) => row.false_contacts || 0 },
      ],
    });
    const filter = () => this.list();
    find("participants-filter").addEventListener("input", () => soon(filter));
    this.canvas.addEventListener("click", (event) => this.hit(event));
  }

  /** Bring the view up to date with the run. */
  show() {
    const { run } = this;
    write(find("participants-total"), count(run.participants.size));
    write(find("islands-total"), count(this.islands().size));
    write(find("endpoints-total"), count(run.endpoints.size));
    write(find("edges-total"), count(run.edges.size));
    const people = run.revision("participants", "islands");
    const pairs = `${people} ${run.revision("edges")}`;
    this.traffic();
    if (this.people !== people) {
      this.people = people;
      let wasted = 0;
      for (const one of run.participants.values()) wasted += one.false_contacts || 0;
      write(find("false-total"), count(wasted));
      this.list();
      this.sites();
    }
    if (this.pairs !== pairs) {
      this.pairs = pairs;
      this.arrange();
      soon(this.redraw);
      this.detail();
    }
  }

  islands() {
    const found = new Map();
    for (const name of this.run.islands.keys()) found.set(name, []);
    for (const one of this.run.participants.values()) {
      const island = one.island || "";
      if (!found.has(island)) found.set(island, []);
      found.get(island).push(one);
    }
    return found;
  }

  list() {
    const words = find("participants-filter").value.trim().toLowerCase();
    const all = [...this.run.participants.values()];
    const wanted = (one) => [one.name, one.id, one.island, one.vendor].some((text) => (text || "").toLowerCase().includes(words));
    this.table.show(words ? all.filter(wanted) : all);
  }

  traffic() {
    if (this.cost === this.run.revision("traffic")) return;
    this.cost = this.run.revision("traffic");
    const number = (text) => ({ text, kind: "number" });
    fill(
      find("traffic-table").tBodies[0],
      [...this.run.traffic.values()].map((one) => [
        one.protocol,
        number(octets(one.octets)),
        number(count(one.datagrams || 0)),
        number(count(one.contacts || 0)),
        number(count(one.false_contacts || 0)),
      ]),
    );
  }

  sites() {
    const rows = [...this.islands()].map(([name, members]) => {
      const known = this.run.islands.get(name) || {};
      const joined = (known.joined || []).join(", ") || "–";
      return [name || "–", { text: count(members.length), kind: "number" }, joined, { text: octets(known.octets || 0), kind: "number" }];
    });
    fill(find("islands-table").tBodies[0], rows);
  }

  /** Give everyone a place in [0, 1): islands on a lattice, members on a sunflower, so that nobody ever jumps. */
  arrange() {
    this.places.clear();
    this.plots = [];
    const islands = [...this.islands()].filter(([, members]) => members.length);
    const side = Math.ceil(Math.sqrt(islands.length)) || 1;
    const rows = Math.ceil(islands.length / side) || 1;
    islands.forEach(([name, members], number) => {
      const [x, y] = [(number % side + 0.5) / side, (Math.floor(number / side) + 0.54) / rows];
      this.plots.push({ name, x, y, across: 0.42 / side, up: 0.34 / rows });
      members.forEach((one, place) => {
        const reach = Math.sqrt((place + 0.5) / members.length);
        const angle = place * 2.399963;
        this.places.set(one.id, { x: x + (0.42 / side) * reach * Math.cos(angle), y: y + (0.34 / rows) * reach * Math.sin(angle) });
      });
    });
    // Pairs of participants, however many endpoints they share.
    const pairs = new Map();
    for (const edge of this.run.edges.values()) {
      if (edge.source === edge.target) continue;
      const key = edge.source < edge.target ? `${edge.source} ${edge.target}` : `${edge.target} ${edge.source}`;
      pairs.set(key, (pairs.get(key) || 0) + 1);
    }
    this.lines = [...pairs.keys()].map((key) => key.split(" "));
  }

  draw() {
    const page = begin(this.canvas);
    if (!page || !this.lines) return;
    const { context, width, height } = page;
    const spot = (id) => {
      const place = this.places.get(id);
      return place && [place.x * width, place.y * height];
    };
    context.textAlign = "center";
    context.fillStyle = color("quiet");
    for (const plot of this.plots) {
      context.fillText(plot.name, plot.x * width, Math.max(13, (plot.y - plot.up) * height - 9));
    }
    const line = (pairs, stroke, alpha, thick) => {
      context.strokeStyle = stroke;
      context.globalAlpha = alpha;
      context.lineWidth = thick;
      context.beginPath();
      for (const [one, other] of pairs) {
        const [from, to] = [spot(one), spot(other)];
        if (!from || !to) continue;
        context.moveTo(...from);
        context.lineTo(...to);
      }
      context.stroke();
      context.globalAlpha = 1;
    };
    const mine = this.lines.filter((pair) => pair.includes(this.chosen));
    line(this.lines, color("edge"), Math.max(0.06, Math.min(0.5, 150 / this.lines.length)), 1);
    line(mine, color("warm"), 0.9, 1.5);
    const friends = new Set(mine.flat());
    const radius = Math.max(2, Math.min(6, 60 / Math.sqrt(this.places.size || 1)));
    // Two paths, not one for each participant: five hundred fills cost as much as the rest of the picture.
    for (const [wanted, fill] of [[false, color("node")], [true, color("warm")]]) {
      context.fillStyle = fill;
      context.beginPath();
      for (const id of this.places.keys()) {
        if ((friends.has(id) || id === this.chosen) !== wanted) continue;
        const [x, y] = spot(id);
        const size = id === this.chosen ? radius + 3 : radius;
        context.moveTo(x + size, y);
        context.arc(x, y, size, 0, 7);
      }
      context.fill();
    }
  }

  hit(event) {
    const box = this.canvas.getBoundingClientRect();
    let [best, nearest] = [null, 20];
    for (const [id, place] of this.places) {
      const far = Math.hypot(place.x * box.width - (event.clientX - box.left), place.y * box.height - (event.clientY - box.top));
      if (far < nearest) [best, nearest] = [id, far];
    }
    if (best) {
      this.choose(best);
      this.table.mark(best);
    }
  }

  choose(id) {
    this.chosen = id;
    soon(this.redraw);
    this.detail();
  }

  detail() {
    const place = find("participant-detail");
    const one = this.run.participants.get(this.chosen);
    if (!one) {
      if (this.chosen) place.replaceChildren(make("p", { className: "quiet", textContent: "That participant is gone." }));
      return;
    }
    const own = [...this.run.endpoints.values()].filter((endpoint) => endpoint.participant === one.id);
    const partners = new Set();
    for (const edge of this.run.edges.values()) {
      if (edge.source === one.id) partners.add(edge.target);
      else if (edge.target === one.id) partners.add(edge.source);
    }
    partners.delete(one.id);
    const names = [...partners].map((id) => (this.run.participants.get(id) || {}).name || id);
    const list = (texts) => make("ul", {}, ...texts.slice(0, 40).map((text) => make("li", { textContent: text })));
    place.replaceChildren(
      make("p", {}, make("strong", { textContent: one.name || one.id }), ` ${one.id}`),
      make("p", { textContent: `${one.vendor || "unknown vendor"}, ${one.island || "no island"}, summary: ${one.summary || "none"}` }),
      make("p", { textContent: `${count(own.length)} endpoints` }),
      list(own.map((endpoint) => `${endpoint.role} of ${endpoint.topic}`)),
      make("p", { textContent: `shares data with ${count(names.length)} of ${count(one.contacts || 0)} contacts` }),
      list(names),
    );
  }
}
