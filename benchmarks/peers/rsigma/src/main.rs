//! rsigma-eval over files: `rsigma-peer PATTERNS EVENTS [OUT]`, see ../__init__.py for the formats.

use rsigma_eval::event::JsonEvent;
use rsigma_eval::Engine;
use rsigma_parser::parse_sigma_yaml;
use serde_json::{json, Value};
use std::fs;
use std::io::{BufWriter, Write};

fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The median and the 99th of a hundred of these times, in microseconds.
fn percentiles(mut times: Vec<f64>) -> Value {
    times.sort_by(|one, other| one.partial_cmp(other).unwrap());
    let at = |share: f64| times.get(((times.len() as f64) * share) as usize).copied().unwrap_or(0.0) * 1e6;
    json!([at(0.5), at(0.99)])
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let patterns = fs::read_to_string(&arguments[1]).expect("patterns");
    let events = fs::read_to_string(&arguments[2]).expect("events");
    let mut refused: Vec<Value> = Vec::new();

    let start = cpu_seconds();
    let mut engine = Engine::new();
    let mut ids: Vec<String> = Vec::new();
    for line in patterns.lines() {
        let given: Value = serde_json::from_str(line).expect("a pattern a line");
        let id = given["id"].as_str().expect("id").to_string();
        match parse_sigma_yaml(given["pattern"].as_str().expect("pattern")) {
            Ok(collection) if collection.rules.len() == 1 => {
                let mut rule = collection.rules[0].clone();
                rule.id = Some(id.clone());
                match engine.add_rule(&rule) {
                    Ok(_) => ids.push(id),
                    Err(error) => refused.push(json!([id, error.to_string()])),
                }
            }
            Ok(_) => refused.push(json!([id, "not one rule"])),
            Err(error) => refused.push(json!([id, error.to_string()])),
        }
    }
    let load = cpu_seconds() - start;

    let start = cpu_seconds();
    let parsed: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event a line"))
        .collect();
    let parse = cpu_seconds() - start;

    let mut found: Vec<(usize, String)> = Vec::new();
    let mut matches = 0usize;
    let keep = arguments.len() > 3;
    let start = cpu_seconds();
    for (number, value) in parsed.iter().enumerate() {
        for result in engine.evaluate(&JsonEvent::borrow(value)) {
            matches += 1;
            if keep {
                found.push((number, result.header.rule_id.clone().unwrap_or_default()));
            }
        }
    }
    let matching = cpu_seconds() - start;

    let mut single: Vec<f64> = Vec::new();
    for line in events.lines().take(2000) {
        let start = cpu_seconds();
        let value: Value = serde_json::from_str(line).expect("an event a line");
        let found = engine.evaluate(&JsonEvent::borrow(&value)).len();
        single.push(cpu_seconds() - start + 0.0 * found as f64);
    }

    if keep {
        let mut out = BufWriter::new(fs::File::create(&arguments[3]).expect("out"));
        for (number, id) in &found {
            writeln!(out, "{}", json!([number, id])).expect("out");
        }
    }
    println!(
        "{}",
        json!({
            "peer": "rsigma-eval", "patterns": ids.len(), "refused": refused, "events": parsed.len(), "matches": matches,
            "load_cpu_s": load, "parse_cpu_s": parse, "match_cpu_s": matching, "cpu_s": parse + matching,
            "single_event_us": percentiles(single),
        })
    );
}
