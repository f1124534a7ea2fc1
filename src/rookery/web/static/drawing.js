// Canvas: sharp on any screen, in the colors of the style sheet, and drawn only when something changed.

const schemes = matchMedia("(prefers-color-scheme: dark)");
let palette = {};

/** A color of the style sheet, by its name. */
function color(name) {
  if (!(name in palette)) palette[name] = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  return palette[name];
}

/** Be told when the colors or the size of the page change. */
function onRestyle(redraw) {
  schemes.addEventListener("change", () => {
    palette = {};
    redraw();
  });
  addEventListener("resize", redraw);
}

/** Draw before the next paint, once, however often it is asked for: an input is answered before anything is drawn. */
const due = new Set();
function soon(draw) {
  if (!due.size) {
    requestAnimationFrame(() => {
      const drawings = [...due];
      due.clear();
      for (const each of drawings) each();
    });
  }
  due.add(draw);
}

/** Go on when the next frame is on the screen: first the answer to an input is seen, then the work that it asks for. */
function afterPaint(work) {
  requestAnimationFrame(() => setTimeout(work));
}

/** Return a cleared context in CSS pixels, with its size; null while the canvas is not shown. */
function begin(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (!width || !height) return null;
  const ratio = Math.min(2, devicePixelRatio || 1);
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  return { context, width, height };
}

/** Mix two #rrggbb colors; 0 gives the first. */
function mix(one, other, share) {
  const part = (text, place) => parseInt(text.slice(1 + 2 * place, 3 + 2 * place), 16);
  const channels = [0, 1, 2].map((place) => Math.round(part(one, place) + (part(other, place) - part(one, place)) * share));
  return `rgb(${channels.join(" ")})`;
}

/** Steps of 1, 2 or 5 times a power of ten for an axis up to `most`. */
function steps(most, wanted = 4) {
  if (!(most > 0)) return [0];
  const rough = most / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const marks = [];
  for (let mark = 0; mark <= most * 1.0001; mark += step) marks.push(mark);
  return marks;
}

/** A chart's frame: horizontal marks with numbers on the left; returns where things go. */
function frame({ context, width, height }, most, format) {
  const left = 64;
  const bottom = height - 24;
  const top = 24;
  const y = (value) => bottom - ((bottom - top) * value) / (most || 1);
  context.strokeStyle = color("line");
  context.fillStyle = color("quiet");
  context.lineWidth = 1;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const mark of steps(most)) {
    context.beginPath();
    context.moveTo(left, y(mark));
    context.lineTo(width - 8, y(mark));
    context.stroke();
    context.fillText(format(mark), left - 6, y(mark));
  }
  return { left, right: width - 8, top, bottom, y };
}
