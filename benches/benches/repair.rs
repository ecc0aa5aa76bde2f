//! The JSON extractor: CPU per kilobyte of valid, wrapped and damaged text.
//!
//! The baseline of the same run reads the valid text with `serde_json` into a `Value`, as the extractor
//! does too at the end of each way.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that can't run should stop and say why"
)]

use std::hint::black_box;

use pgw_bench::{CpuMeter, Rounds, print_row, print_title};
use pgw_client::extract;
use serde_json::Value;

const ROUNDS: usize = 9;
const PASSES: usize = 6;
const ITEMS: usize = 8_000;

/// About a megabyte of objects as models write them.
fn valid() -> String {
    let item = |number: usize| {
        format!(
            "{{\"id\": {number}, \"name\": \"item number {number}\", \"ok\": true, \"score\": 0.5, \
             \"tags\": [\"one\", \"two\"], \"note\": \"a sentence, with a comma\"}}"
        )
    };
    let items: Vec<String> = (0..ITEMS).map(item).collect();
    format!("[{}]", items.join(",\n"))
}

fn main() {
    if let Some(core) = core_affinity::get_core_ids().and_then(|cores| cores.first().copied()) {
        core_affinity::set_for_current(core);
    }
    let valid = valid();
    let damaged = valid.replace("true", "True").replace("},\n", ",},\n").replace('"', "'");
    let inner = valid.replace("a sentence, with", "a \"sentence\", with");
    let cut = valid[..valid.len() - 20].to_owned();
    let fenced = format!("Here you are:\n```json\n{valid}\n```\n");
    let read = |text: &str| extract(text).unwrap().value;
    let contenders: [(&str, &dyn Fn() -> Value, usize); 6] = [
        ("serde_json::Value, valid", &|| serde_json::from_str(&valid).unwrap(), valid.len()),
        ("extract, valid (≥ 50 MB/s)", &|| read(&valid), valid.len()),
        ("extract, valid in a fence", &|| read(&fenced), fenced.len()),
        ("extract, damaged (≥ 10 MB/s)", &|| read(&damaged), damaged.len()),
        ("extract, quotes inside", &|| read(&inner), inner.len()),
        ("extract, cut", &|| read(&cut), cut.len()),
    ];
    let mut figures: [Rounds; 6] = Default::default();
    for round in 0..=ROUNDS {
        for ((_, run, bytes), rounds) in contenders.iter().zip(&mut figures) {
            let meter = CpuMeter::start(&[]);
            for _ in 0..PASSES {
                let items = black_box(run()).as_array().map_or(0, Vec::len);
                assert!(items + 1 >= ITEMS, "{items}");
            }
            // The first round warms up, and doesn't count.
            if round > 0 {
                rounds.add(meter.elapsed(), PASSES * bytes / 1_000);
            }
        }
    }
    print_title("reading JSON out of a text: CPU per kilobyte");
    for ((name, ..), rounds) in contenders.iter().zip(&figures) {
        print_row(name, rounds, &format!("{:.0} MB/s", 1e3 / rounds.median()));
    }
    println!("  {} bytes, {ITEMS} items", valid.len());
}
