//! A-Tree over files: `a-tree-peer PATTERNS EVENTS`, see ../__init__.py for the formats. Reports `edit_cpu_s` too: one
//! subscription deleted and inserted again. Attributes and their types are those of the first event.

use a_tree::{ATree, AttributeDefinition};
use serde_json::{json, Value};
use std::fs;

fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let patterns = fs::read_to_string(&arguments[1]).expect("patterns");
    let events = fs::read_to_string(&arguments[2]).expect("events");
    let first: Value = serde_json::from_str(events.lines().next().expect("an event")).expect("JSON");
    let definitions: Vec<AttributeDefinition> = first
        .as_object()
        .expect("an object")
        .iter()
        .map(|(name, value)| match value {
            Value::String(_) => AttributeDefinition::string(name),
            Value::Number(number) if number.is_f64() => AttributeDefinition::float(name),
            _ => AttributeDefinition::integer(name),
        })
        .collect();
    let mut refused: Vec<Value> = Vec::new();
    let given: Vec<(u64, String)> = patterns
        .lines()
        .map(|line| {
            let pattern: Value = serde_json::from_str(line).expect("a pattern a line");
            let id = pattern["id"].as_str().expect("id").parse().expect("a number");
            (id, pattern["pattern"].as_str().expect("pattern").to_string())
        })
        .collect();

    let start = cpu_seconds();
    let mut tree = ATree::<u64>::new(&definitions).expect("definitions");
    for (id, text) in &given {
        if let Err(error) = tree.insert(id, text) {
            refused.push(json!([id, format!("{error:?}")]));
        }
    }
    let load = cpu_seconds() - start;

    let mut matches = 0usize;
    let mut count = 0usize;
    let start = cpu_seconds();
    for line in events.lines() {
        let event: Value = serde_json::from_str(line).expect("an event a line");
        let mut builder = tree.make_event();
        for (name, value) in event.as_object().expect("an object") {
            match value {
                Value::String(text) => builder.with_string(name, text).expect("a string"),
                Value::Number(number) if number.is_f64() => {
                    let cents = (number.as_f64().expect("a double") * 100.0).round() as i64;
                    builder.with_float(name, cents, 2).expect("a float")
                }
                _ => builder.with_integer(name, value.as_i64().expect("an integer")).expect("an integer"),
            }
        }
        let built = builder.build().expect("an event");
        matches += tree.search(&built).expect("a search").matches().len();
        count += 1;
    }
    let cpu = cpu_seconds() - start;

    let edits = given.len().min(100);
    let start = cpu_seconds();
    for (id, text) in given.iter().take(edits) {
        tree.delete(id);
        tree.insert(id, text).expect("it was taken before");
    }
    let edit = (cpu_seconds() - start) / edits as f64;

    println!(
        "{}",
        json!({
            "peer": "a-tree", "patterns": given.len() - refused.len(), "refused": refused, "events": count,
            "matches": matches, "load_cpu_s": load, "cpu_s": cpu, "edit_cpu_s": edit,
        })
    );
}
