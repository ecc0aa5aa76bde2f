//! What the records add up to: calls, tokens, cost, failures and times, by what one asks for.

use std::collections::{BTreeMap, HashSet};

use pgw_types::CallRecord;
use rusqlite::{Row, params};
use serde::Serialize;

use crate::log::{CallLog, LogError};

/// What records are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UsageBy {
    /// The model that was asked for; of a hit, the one that had answered.
    Model,
    /// The source; empty for calls that ended before one was chosen.
    Source,
    /// The day on which the attempt began, UTC.
    Day,
    /// The caller's session; empty for calls without one.
    Session,
}

impl UsageBy {
    const fn column(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Source => "source_name",
            // SQLite knows the days of ten thousand years only.
            Self::Day => "COALESCE(date(started_at_ms / 1000, 'unixepoch'), '')",
            Self::Session => "COALESCE(session_id, '')",
        }
    }
}

/// Which records are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageQuery {
    /// How they are put together, outermost first; none: all in one.
    pub by: Vec<UsageBy>,
    /// Begun at this time or later, milliseconds since 1970-01-01 UTC.
    pub since_ms: Option<u64>,
    /// Begun before this time.
    pub until_ms: Option<u64>,
    /// Of this scope.
    pub scope: Option<String>,
}

/// What one group adds up to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UsageRow {
    /// What the group has in common, in the order of the query's `by`.
    pub group: Vec<String>,
    /// Calls: a call with several attempts, in this group, counts once.
    pub calls: u64,
    /// Upstream calls.
    pub attempts: u64,
    /// Calls that ended without an attempt: refused, or given up while waiting.
    pub unasked: u64,
    /// Answers from the cache.
    pub cache_hits: u64,
    /// Attempts, and calls without any, that failed; not those that were cancelled.
    pub failures: u64,
    /// Attempts, and calls without any, that were cancelled.
    pub cancelled: u64,
    /// Tokens of the prompts that were sent.
    pub prompt_tokens: u64,
    /// Tokens of the answers that came.
    pub completion_tokens: u64,
    /// Tokens of both that hits saved.
    pub saved_tokens: u64,
    /// Attempts whose tokens are an estimate.
    pub estimated: u64,
    /// US dollars, of the records with a known price; `None` if no record has one.
    pub cost: Option<f64>,
    /// Attempts that used tokens but have no known price: the cost leaves them out.
    pub unpriced: u64,
    /// Milliseconds of a successful attempt, at the middle (nearest rank).
    pub latency_p50_ms: Option<f64>,
    /// The same at 95 of 100.
    pub latency_p95_ms: Option<f64>,
    /// Milliseconds to the first token of a successful attempt, at the middle.
    pub ttft_p50_ms: Option<f64>,
    /// The same at 95 of 100.
    pub ttft_p95_ms: Option<f64>,
}

impl UsageRow {
    /// Failures among attempts and calls without any; 0 if there are none.
    #[must_use]
    pub fn error_rate(&self) -> f64 {
        share(self.failures, self.attempts + self.unasked)
    }

    /// Attempts whose tokens are an estimate, among all; 0 if there are none.
    #[must_use]
    pub fn estimated_share(&self) -> f64 {
        share(self.estimated, self.attempts)
    }

    /// Hits among calls; 0 if there are none.
    #[must_use]
    pub fn cache_share(&self) -> f64 {
        share(self.cache_hits, self.calls)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of calls are small")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A group while it is added up.
#[derive(Default)]
struct Sum {
    row: UsageRow,
    calls: HashSet<String>,
    latencies: Vec<f64>,
    ttfts: Vec<f64>,
}

/// What of a record counts.
struct Entry {
    group: Vec<String>,
    request_id: String,
    is_attempt: bool,
    cache_hit: bool,
    error: Option<String>,
    cost: Option<f64>,
    prompt_tokens: u64,
    completion_tokens: u64,
    is_estimated: bool,
    latency_ms: f64,
    ttft_ms: Option<f64>,
}

impl Sum {
    fn add(&mut self, entry: Entry) {
        let row = &mut self.row;
        let tokens = entry.prompt_tokens.saturating_add(entry.completion_tokens);
        self.calls.insert(entry.request_id);
        if let Some(cost) = entry.cost {
            row.cost = Some(row.cost.unwrap_or(0.0) + cost);
        }
        if entry.cache_hit {
            row.cache_hits += 1;
            row.saved_tokens = row.saved_tokens.saturating_add(tokens);
            return;
        }
        row.attempts += u64::from(entry.is_attempt);
        row.unasked += u64::from(!entry.is_attempt);
        row.prompt_tokens = row.prompt_tokens.saturating_add(entry.prompt_tokens);
        row.completion_tokens = row.completion_tokens.saturating_add(entry.completion_tokens);
        row.estimated += u64::from(entry.is_estimated && tokens > 0);
        row.unpriced += u64::from(entry.cost.is_none() && tokens > 0);
        match entry.error.as_deref() {
            Some(CallRecord::CANCELLED) => row.cancelled += 1,
            Some(_) => row.failures += 1,
            None => {
                self.latencies.push(entry.latency_ms);
                self.ttfts.extend(entry.ttft_ms);
            }
        }
    }

    fn finish(mut self, group: Vec<String>) -> UsageRow {
        self.latencies.sort_unstable_by(f64::total_cmp);
        self.ttfts.sort_unstable_by(f64::total_cmp);
        UsageRow {
            group,
            calls: u64::try_from(self.calls.len()).unwrap_or(u64::MAX),
            latency_p50_ms: nearest_rank(&self.latencies, 50),
            latency_p95_ms: nearest_rank(&self.latencies, 95),
            ttft_p50_ms: nearest_rank(&self.ttfts, 50),
            ttft_p95_ms: nearest_rank(&self.ttfts, 95),
            ..self.row
        }
    }
}

/// The value at a percentile of sorted values: the smallest that at least so many of a hundred do not
/// exceed.
fn nearest_rank(sorted: &[f64], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

impl CallLog {
    /// Adds records up by groups, in the order of the groups. Holds the ids and times of what it looks
    /// at in memory.
    ///
    /// # Errors
    /// If the database can't be read.
    pub fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageRow>, LogError> {
        let columns: String = query.by.iter().flat_map(|by| [", ", by.column()]).collect();
        let text = format!(
            "SELECT request_id, attempt IS NOT NULL, cache_hit, error, cost, prompt_tokens,
                    completion_tokens, usage_source = 'estimated', latency_ms, ttft_ms{columns}
             FROM llm_calls
             WHERE (?1 IS NULL OR started_at_ms >= ?1) AND (?2 IS NULL OR started_at_ms < ?2)
                   AND (?3 IS NULL OR scope = ?3)"
        );
        let time = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
        let (since, until) = (query.since_ms.map(time), query.until_ms.map(time));
        let mut groups: BTreeMap<Vec<String>, Sum> = BTreeMap::new();
        let width = query.by.len();
        self.each(&text, params![since, until, query.scope], |row| {
            let mut entry = entry(row, width)?;
            let group = std::mem::take(&mut entry.group);
            groups.entry(group).or_default().add(entry);
            Ok(())
        })?;
        Ok(groups.into_iter().map(|(group, sum)| sum.finish(group)).collect())
    }
}

fn entry(row: &Row<'_>, width: usize) -> rusqlite::Result<Entry> {
    let group = (10..10 + width).map(|column| row.get(column)).collect::<Result<_, _>>()?;
    Ok(Entry {
        group,
        request_id: row.get(0)?,
        is_attempt: row.get(1)?,
        cache_hit: row.get(2)?,
        error: row.get(3)?,
        cost: row.get(4)?,
        prompt_tokens: crate::log::count(row, 5)?,
        completion_tokens: crate::log::count(row, 6)?,
        is_estimated: row.get(7)?,
        latency_ms: row.get(8)?,
        ttft_ms: row.get(9)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_seen() {
        assert_eq!(nearest_rank(&[], 50), None);
        assert_eq!(nearest_rank(&[7.0], 50), Some(7.0));
        assert_eq!(nearest_rank(&[7.0], 95), Some(7.0));
        assert_eq!(nearest_rank(&[1.0, 2.0, 3.0, 4.0], 50), Some(2.0));
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(
            (nearest_rank(&hundred, 50), nearest_rank(&hundred, 95)),
            (Some(50.0), Some(95.0))
        );
    }
}
