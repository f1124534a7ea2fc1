// Spark: how fast the batches are, which rules judged them, and how evenly the zones share the load.

class SparkView {
  constructor(run) {
    this.run = run;
    this.redraw = () => this.draw();
    this.table = new Grid(find("batches-table"), {
      label: "batches-heading",
      key: (row) => `${row.query} ${row.number}`,
      width: 460,
      short: true,
      none: "No batches. A demo or a stream that records brings them.",
      columns: [
        { title: "Query", text: (row) => row.query, width: "minmax(5rem, 1fr)" },
        { title: "Batch", number: true, width: "4rem", text: (row) => count(row.number), sort: (row) => row.number },
        { title: "Rows", number: true, text: (row) => count(row.rows), sort: (row) => row.rows },
        { title: "Rows/s", number: true, text: (row) => count(row.rows_per_second || 0), sort: (row) => row.rows_per_second || 0 },
        { title: "Time", number: true, text: (row) => seconds(row.seconds), sort: (row) => row.seconds },
        { title: "Rules", number: true, width: "4rem", text: (row) => String(row.set_version || 0), sort: (row) => row.set_version || 0 },
      ],
    });
    this.zones = new Grid(find("skew-table"), {
      label: "skew-heading",
      key: (row) => `${row.query} ${row.zone}`,
      width: 460,
      short: true,
      none: "No zones were measured.",
      columns: [
        { title: "Query", text: (row) => row.query, width: "minmax(5rem, 1fr)" },
        { title: "Zone", number: true, width: "4rem", text: (row) => count(row.zone), sort: (row) => row.zone },
        { title: "Events", number: true, text: (row) => count(row.events), sort: (row) => row.events },
        { title: "Rules", number: true, text: (row) => count(row.subscriptions), sort: (row) => row.subscriptions },
        { title: "Load / mean", number: true, text: (row) => row.skew.toFixed(2), sort: (row) => row.skew },
      ],
    });
  }

  show() {
    const { run } = this;
    if (this.state === run.revision("batches", "skew")) return;
    this.state = run.revision("batches", "skew");
    const last = run.batches[run.batches.length - 1];
    write(find("spark-batches"), count(run.batches.length));
    if (last) {
      write(find("spark-rate"), count(last.rows_per_second || 0));
      write(find("spark-seconds"), seconds(last.seconds));
      write(find("spark-version"), last.set_version ? `version ${last.set_version}` : "–");
    }
    this.table.show(run.batches.slice().reverse());
    this.bars = [];
    for (const { query, zones } of run.skew.values()) {
      zones.forEach(([events, subscriptions, , skew], zone) => this.bars.push({ query, zone, events, subscriptions, skew }));
    }
    this.zones.show(this.bars);
    // An empty frame says less than the line below it.
    find("batches-canvas").closest("figure").hidden = !run.batches.length;
    find("skew-canvas").closest("figure").hidden = !this.bars.length;
    write(find("spark-skew"), this.bars.length ? `${Math.max(...this.bars.map((bar) => bar.skew)).toFixed(2)} ×` : "–");
    soon(this.redraw);
  }

  draw() {
    this.drawBatches();
    this.drawSkew();
  }

  drawBatches() {
    const page = begin(find("batches-canvas"));
    const { batches } = this.run;
    if (!page || !batches.length) return;
    const { context } = page;
    const most = Math.max(...batches.map((batch) => batch.rows_per_second || 0));
    const slowest = Math.max(...batches.map((batch) => batch.seconds)) || 1;
    const at = frame(page, most, (mark) => (mark >= 1000 ? `${amount(mark / 1000)} k` : amount(mark)));
    const x = (place) => at.left + 10 + ((at.right - at.left - 20) * place) / Math.max(1, batches.length - 1);
    batches.forEach((batch, place) => {
      const before = batches[place - 1];
      if (!before || before.set_version === batch.set_version || before.query !== batch.query) return;
      context.strokeStyle = color("ink");
      context.setLineDash([2, 3]);
      context.lineWidth = 1.5;
      context.beginPath();
      context.moveTo(x(place), at.top - 14);
      context.lineTo(x(place), at.bottom);
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = color("ink");
      context.textAlign = "left";
      context.fillText(`rules ${batch.set_version} from batch ${batch.number}`, x(place) + 5, at.top - 8);
    });
    const curve = (value, stroke, dash) => {
      context.strokeStyle = stroke;
      context.lineWidth = 2;
      context.setLineDash(dash);
      context.beginPath();
      batches.forEach((batch, place) => {
        const y = at.y(value(batch));
        if (place) context.lineTo(x(place), y);
        else context.moveTo(x(place), y);
      });
      context.stroke();
      context.setLineDash([]);
    };
    curve((batch) => (batch.seconds / slowest) * most, color("warm"), [6, 4]);
    curve((batch) => batch.rows_per_second || 0, color("accent"), []);
    context.fillStyle = color("quiet");
    context.textAlign = "left";
    context.fillText(`batch ${batches[0].number}`, at.left, at.bottom + 14);
    context.textAlign = "right";
    context.fillText(`batch ${batches[batches.length - 1].number}; longest ${seconds(slowest)}`, at.right, at.bottom + 14);
  }

  drawSkew() {
    const page = begin(find("skew-canvas"));
    if (!page || !this.bars || !this.bars.length) return;
    const { context } = page;
    const most = Math.max(1, ...this.bars.map((bar) => bar.skew));
    const at = frame(page, most, (mark) => amount(mark));
    const room = (at.right - at.left - 8) / this.bars.length;
    this.bars.forEach((bar, place) => {
      context.fillStyle = bar.skew > 2 ? color("bad") : color("accent");
      context.fillRect(at.left + 6 + place * room, at.y(bar.skew), Math.max(1, room - Math.min(4, room / 4)), at.bottom - at.y(bar.skew));
    });
    context.strokeStyle = color("ink");
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(at.left, at.y(1));
    context.lineTo(at.right, at.y(1));
    context.stroke();
    context.setLineDash([]);
  }
}
