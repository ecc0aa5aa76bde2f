//! What the records of the demonstration say, source by source, read from the store itself.

use std::fmt::Write as _;

use pgw_client::SourceTotals;

use super::scenes::Scene;

/// The totals as a small table.
pub(crate) fn told(totals: &[SourceTotals]) -> String {
    let mut text = String::from(
        "\nCall records (SQLite), by source:\n  \
         source  calls  failed  prompt tokens  answer tokens  cost (USD)\n",
    );
    for row in totals {
        let cost = row.cost.map_or_else(|| "unknown".into(), |cost| format!("{cost:.6}"));
        let _ = writeln!(
            text,
            "  {:<6} {:>6} {:>7} {:>14} {:>14} {cost:>11}",
            row.source_name, row.calls, row.failures, row.prompt_tokens, row.completion_tokens
        );
    }
    text += "  (tokens of an answer that broke off are estimated: no service reports them)\n";
    text
}

/// Where the totals of a source differ from the attempts of the scenes: each leaves exactly one
/// record.
pub(crate) fn unlike(totals: &[SourceTotals], source: &str, scenes: &[Scene]) -> Option<String> {
    let (calls, failures) = attempts_on(source, scenes);
    let row = totals.iter().find(|row| row.source_name == source);
    let found = row.map_or((0, 0), |row| (row.calls, row.failures));
    (found != (calls, failures))
        .then(|| format!("{source} should have {calls} records, {failures} of them failures"))
}

/// How many attempts the scenes make on a source, and how many of them fail.
pub(crate) fn attempts_on(source: &str, scenes: &[Scene]) -> (u64, u64) {
    let attempts = scenes.iter().flat_map(|scene| scene.attempts);
    attempts.filter(|(name, _)| *name == source).fold((0, 0), |(calls, failures), (_, fault)| {
        (calls + 1, failures + u64::from(fault.is_some()))
    })
}
