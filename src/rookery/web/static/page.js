// The page: tabs, the connection, the replay's controls. Only the view that is open is brought up to date, at most once
// for each message and never in the middle of a frame.

const run = new Run();
const views = {
  network: new NetworkView(run),
  space: new SpaceView(run),
  match: new MatchView(run),
  spark: new SparkView(run),
  ledger: new LedgerView(run),
};
const names = Object.keys(views);
let open = "network";
let waiting = false;
let held = false;

function refresh() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    heading();
    views[open].show();
  });
}

function heading() {
  write(find("title"), run.title);
  write(find("clock"), timeOfDay(run.now));
  write(find("events-total"), count(run.totals.events));
  write(find("events-rate"), run.saved ? "–" : count(run.rate));
  write(find("subscriptions-total"), count(run.totals.subscriptions));
  const left = run.totals.refused + run.totals.rejected;
  find("refused-figure").hidden = !left;
  write(find("refused-total"), count(left));
  steering();
}

function tell(text, lost = false) {
  write(find("connection"), text);
  find("connection").classList.toggle("lost", lost);
}

// Tabs, as the pattern for them goes: one of them is in the tab order, arrows move among them.

function openView(name, focus = false) {
  open = name;
  for (const each of names) {
    const tab = find(`tab-${each}`);
    tab.setAttribute("aria-selected", String(each === name));
    tab.tabIndex = each === name ? 0 : -1;
    find(each).hidden = each !== name;
  }
  if (focus) find(`tab-${name}`).focus();
  afterPaint(() => {
    // Not the name of an element: the browser would scroll to it, and start the tab order there.
    history.replaceState(null, "", `#/${open}`);
    views[open].show();
    again();
  });
}

/** Draw the open view again: its size or its colors are others, or it was hidden. */
function again() {
  const view = views[open];
  if (view.redraw) soon(view.redraw);
  for (const part of Object.values(view)) if (part instanceof Grid) part.draw();
}

for (const name of names) find(`tab-${name}`).addEventListener("click", () => openView(name));
find("tabs").addEventListener("keydown", (event) => {
  const place = names.indexOf(open);
  const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: names.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  openView(names[(to + names.length) % names.length], true);
});

// The replay.

function steering() {
  const { status } = run;
  const replay = status.mode === "replay" && !run.saved;
  find("replay").hidden = !replay;
  if (!replay) return;
  write(find("play"), status.playing ? "Pause" : "Play");
  const length = (status.last - status.first) / 1_000_000;
  if (!held) {
    const share = status.last > status.first ? (status.position - status.first) / (status.last - status.first) : 0;
    find("position").value = String(Math.round(share * 1000));
    write(find("position-text"), `${((status.position - status.first) / 1_000_000).toFixed(1)} of ${length.toFixed(1)} s`);
  }
  find("position").setAttribute("aria-valuetext", find("position-text").textContent);
  const speeds = find("speed");
  if (document.activeElement !== speeds && ![...speeds.options].some((option) => Number(option.value) === status.speed)) {
    speeds.append(make("option", { value: String(status.speed), textContent: `${status.speed} ×` }));
  }
  if (document.activeElement !== speeds) speeds.value = String(status.speed);
}

async function steer(wish) {
  try {
    const answer = await fetch("replay", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(wish) });
    if (!answer.ok) return tell((await answer.json()).error, true);
    run.status = await answer.json();
    return refresh();
  } catch {
    return tell("the server does not answer", true);
  }
}

find("replay").addEventListener("submit", (event) => event.preventDefault());
find("play").addEventListener("click", () => steer({ playing: !run.status.playing }));
find("speed").addEventListener("change", (event) => steer({ speed: Number(event.target.value) }));
find("position").addEventListener("input", (event) => {
  held = true;
  const at = (Number(event.target.value) / 1000) * (run.status.last - run.status.first);
  write(find("position-text"), `to ${(at / 1_000_000).toFixed(1)} s`);
});
find("position").addEventListener("change", async (event) => {
  const { first, last } = run.status;
  await steer({ position: Math.round(first + (Number(event.target.value) / 1000) * (last - first)) });
  held = false;
});

// Where the run comes from: this file, or the server.

function begun() {
  const wanted = location.hash.slice(2);
  openView(names.includes(wanted) ? wanted : "network");
  onRestyle(again);
}

const saved = find("snapshot");
if (saved) {
  run.apply(JSON.parse(saved.textContent));
  run.saved = true;
  find("save").hidden = true;
  begun();
  heading();
  tell(`saved ${new Date(run.now / 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`);
} else {
  begun();
  const stream = new EventSource("stream");
  stream.addEventListener("message", (event) => {
    run.apply(JSON.parse(event.data));
    tell(run.status.mode === "replay" ? `replay of ${run.status.file}` : "live");
    refresh();
  });
  stream.addEventListener("error", () => tell("connection lost, trying again", true));
}
