//! Medians and rows.

use std::time::Duration;

/// Figures of one contender, a round each.
#[derive(Clone, Debug, Default)]
pub struct Rounds(Vec<f64>);

impl Rounds {
    /// Adds the figure of a round: `spent` over `count` pieces, in microseconds.
    pub fn add(&mut self, spent: Duration, count: usize) {
        #[expect(clippy::cast_precision_loss, reason = "a count of calls is small")]
        let count = count.max(1) as f64;
        self.0.push(spent.as_secs_f64() * 1e6 / count);
    }

    /// The median, in microseconds.
    #[must_use]
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// The lowest and the highest figure.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        let fold = |pick: fn(f64, f64) -> f64, start| self.0.iter().copied().fold(start, pick);
        (fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY))
    }
}

/// Prints a heading.
pub fn print_title(title: &str) {
    println!("\n{title}");
}

/// Prints one figure: median, range, and what it is to be compared with.
pub fn print_row(name: &str, rounds: &Rounds, note: &str) {
    let (low, high) = rounds.range();
    println!("  {name:<34} {:>8.2} µs   ({low:.2} … {high:.2})   {note}", rounds.median());
}

/// Prints one figure in bytes: how much, and what it is to be compared with.
pub fn print_bytes(name: &str, bytes: u64, note: &str) {
    println!("  {name:<34} {bytes:>8} B    {note}");
}
