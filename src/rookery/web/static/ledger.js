// The ledger: what was published, what was delivered, what was delivered twice, and what was missed.

class LedgerView {
  constructor(run) {
    this.run = run;
  }

  show() {
    const { run } = this;
    if (this.state !== run.revision("ledger")) {
      this.state = run.revision("ledger");
      this.books();
    }
    if (this.noted !== run.revision("notes")) {
      this.noted = run.revision("notes");
      const notes = run.notes.slice(-100).reverse();
      find("notes-heading").hidden = !notes.length;
      find("notes").replaceChildren(...notes.map((note) => make("li", { textContent: `${timeOfDay(note.at)}  ${note.text}` })));
    }
  }

  books() {
    const parts = ["published", "expected", "delivered", "way", "duplicated", "missed", "extra"];
    const sums = Object.fromEntries(parts.map((part) => [part, 0]));
    const rows = [...this.run.ledger.values()].map((one) => {
      const line = { ...one };
      line.way = Math.max(0, (one.expected || 0) - (one.delivered || 0) - (one.missed || 0));
      for (const part of parts) sums[part] += line[part] || 0;
      return this.row(one.source, line, parts);
    });
    if (rows.length > 1) rows.push(this.row("all", sums, parts));
    fill(find("ledger-table").tBodies[0], rows);
    const verdict = find("verdict");
    const faults = ["missed", "duplicated", "extra"].filter((part) => sums[part] > 0);
    verdict.className = faults.length ? "bad" : "good";
    if (!sums.published) {
      verdict.className = "";
      write(verdict, "No events yet.");
    } else if (faults.length) write(verdict, `Not exact: ${faults.map((part) => `${part} ${count(sums[part])}`).join(", ")}.`);
    else write(verdict, "Nothing missed, nothing twice, nothing extra.");
  }

  row(source, line, parts) {
    const faults = new Set(["duplicated", "missed", "extra"]);
    return [
      source,
      ...parts.map((part) => ({ text: count(line[part] || 0), kind: faults.has(part) && line[part] ? "number fault" : "number" })),
    ];
  }
}
