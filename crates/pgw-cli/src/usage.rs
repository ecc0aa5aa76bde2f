//! `pgw usage`: what the call records add up to, as a table or as JSON.

use std::{
    fmt::Write as _,
    io,
    time::{SystemTime, UNIX_EPOCH},
};

use pgw_client::{CallLog, Environment, UsageBy, UsageQuery, UsageRow};
use serde_json::{Map, Value, json};

use crate::{
    args::{By, UsageArgs, When},
    console,
    exit::Exit,
    output,
};

/// Reads the records and prints the sums.
pub(crate) fn run(args: &UsageArgs) -> io::Result<Exit> {
    let path = match &args.db {
        Some(path) => path.clone(),
        None => match Environment::from_process(args.environment.file().as_deref()) {
            Ok(environment) => environment.telemetry_path(),
            Err(error) => {
                console::err(&format!("pgw usage: {error}\n"));
                return Ok(Exit::Configuration);
            }
        },
    };
    #[expect(clippy::disallowed_methods, reason = "`7d` is meant from the moment of the command")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let query = UsageQuery {
        by: args.by.iter().map(|by| by.column()).collect(),
        since_ms: args.since.map(|when| when.unix_ms(now_ms)),
        until_ms: args.until.map(|when| when.unix_ms(now_ms)),
        scope: args.scope.clone(),
    };
    if let (Some(since), Some(until)) = (query.since_ms, query.until_ms)
        && since >= until
    {
        console::err("pgw usage: --until is not after --since, so nothing lies between them\n");
        return Ok(Exit::Usage);
    }
    let rows = CallLog::open(&path).and_then(|log| log.usage(&query));
    let rows = match rows {
        Ok(rows) => rows,
        Err(error) => {
            let place = path.display();
            let fix = "name the file of PGW_TELEMETRY_PATH with --db";
            console::err(&format!("pgw usage: {place}: {error}; {fix}\n"));
            return Ok(Exit::Usage);
        }
    };
    let text = if args.json { output::json(&as_json(args, &rows))? } else { table(args, &rows) };
    console::out(&text)?;
    Ok(Exit::Ok)
}

impl By {
    const fn column(self) -> UsageBy {
        match self {
            Self::Model => UsageBy::Model,
            Self::Source => UsageBy::Source,
            Self::Day => UsageBy::Day,
            Self::Session => UsageBy::Session,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Source => "source",
            Self::Day => "day",
            Self::Session => "session",
        }
    }
}

impl When {
    fn unix_ms(self, now_ms: u64) -> u64 {
        match self {
            Self::Ago(time) => {
                now_ms.saturating_sub(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
            }
            Self::At(unix_ms) => unix_ms,
        }
    }
}

/// Scripts read its members: a name that stands here stays.
fn as_json(args: &UsageArgs, rows: &[UsageRow]) -> Value {
    let row = |row: &UsageRow| {
        let groups = args.by.iter().zip(&row.group);
        let mut members: Map<_, _> =
            groups.map(|(by, name)| (by.name().to_owned(), name.as_str().into())).collect();
        if let Ok(Value::Object(figures)) = serde_json::to_value(row) {
            members.extend(figures.into_iter().filter(|(name, _)| name != "group"));
        }
        for (name, share) in [
            ("error_rate", row.error_rate()),
            ("cache_share", row.cache_share()),
            ("estimated_share", row.estimated_share()),
        ] {
            members.insert(name.to_owned(), share.into());
        }
        members
    };
    json!({"rows": rows.iter().map(row).collect::<Vec<_>>()})
}

/// Columns of figures, behind those of the groups.
const FIGURES: [&str; 13] = [
    "calls",
    "attempts",
    "errors",
    "hits",
    "tokens in",
    "tokens out",
    "saved",
    "estimated",
    "cost $",
    "p50 ms",
    "p95 ms",
    "ttft p50",
    "ttft p95",
];

fn table(args: &UsageArgs, rows: &[UsageRow]) -> String {
    let mut lines = vec![args.by.iter().map(|by| by.name().to_owned()).collect::<Vec<_>>()];
    lines[0].extend(FIGURES.map(str::to_owned));
    lines.extend(rows.iter().map(cells));
    let names = args.by.len();
    let widths: Vec<usize> = (0..names + FIGURES.len())
        .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for line in &lines {
        let padded = line.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            // Names stand left, figures right.
            if column < names { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        let padded: Vec<String> = padded.collect();
        // Writing to a String can't fail.
        let _ = writeln!(text, "{}", padded.join("  ").trim_end());
    }
    if rows.is_empty() {
        text += "no records\n";
    }
    let unpriced: u64 = rows.iter().map(|row| row.unpriced).sum();
    if unpriced > 0 {
        let _ =
            writeln!(text, "cost leaves out {unpriced} attempts whose model has no known price");
    }
    text
}

fn cells(row: &UsageRow) -> Vec<String> {
    let unknown = || "-".to_owned();
    let time = |time: Option<f64>| time.map_or_else(unknown, |time| format!("{time:.0}"));
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    let mut cells: Vec<String> = row
        .group
        .iter()
        .map(|name| if name.is_empty() { unknown() } else { name.clone() })
        .collect();
    cells.extend([
        row.calls.to_string(),
        row.attempts.to_string(),
        percent(row.error_rate()),
        percent(row.cache_share()),
        row.prompt_tokens.to_string(),
        row.completion_tokens.to_string(),
        row.saved_tokens.to_string(),
        percent(row.estimated_share()),
        row.cost.map_or_else(unknown, |cost| format!("{cost:.6}")),
        time(row.latency_p50_ms),
        time(row.latency_p95_ms),
        time(row.ttft_p50_ms),
        time(row.ttft_p95_ms),
    ]);
    cells
}
