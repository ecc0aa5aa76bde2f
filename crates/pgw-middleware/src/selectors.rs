//! The built-in orders of sources.
//!
//! A selector sees the sources that are not cooling and says which to ask first. Sources that
//! failed in the same call are asked last in any case; the loop sees to that.

use std::{
    cmp::Ordering,
    sync::atomic::{self, AtomicUsize},
};

use pgw_ports::{Candidate, Selection, SourceSelector};

/// The names under which the built-in selectors are configured.
pub const NAMES: [&str; 5] =
    ["round_robin", "least_inflight", "ordered", "weighted", "lowest_cost"];

/// The built-in selector of a name.
#[must_use]
pub fn by_name(name: &str) -> Option<Box<dyn SourceSelector>> {
    match name {
        "round_robin" => Some(Box::new(RoundRobin::default())),
        "least_inflight" => Some(Box::new(LeastInflight)),
        "ordered" => Some(Box::new(Ordered::default())),
        "weighted" => Some(Box::new(Weighted)),
        "lowest_cost" => Some(Box::new(LowestCost)),
        _ => None,
    }
}

fn sorted_by(
    selection: &Selection<'_>,
    compare: impl Fn(&Candidate, &Candidate) -> Ordering,
) -> Vec<usize> {
    let mut order: Vec<usize> = (0..selection.candidates.len()).collect();
    // The sort is stable: ties keep the configured order.
    order.sort_by(|&a, &b| compare(&selection.candidates[a], &selection.candidates[b]));
    order
}

fn rotated(count: usize, start: usize) -> Vec<usize> {
    (0..count).map(|step| (start + step) % count.max(1)).collect()
}

/// One after the other.
#[derive(Debug, Default)]
pub struct RoundRobin {
    next: AtomicUsize,
}

impl SourceSelector for RoundRobin {
    fn name(&self) -> &'static str {
        "round_robin"
    }

    fn needs_load(&self) -> bool {
        false
    }

    fn order(&self, selection: &Selection<'_>) -> Vec<usize> {
        let turn = self.next.fetch_add(1, atomic::Ordering::Relaxed);
        let count = selection.candidates.len();
        rotated(count, turn % count.max(1))
    }
}

/// The one with the fewest calls in flight.
#[derive(Debug)]
pub struct LeastInflight;

impl SourceSelector for LeastInflight {
    fn name(&self) -> &'static str {
        "least_inflight"
    }

    fn needs_load(&self) -> bool {
        true
    }

    fn order(&self, selection: &Selection<'_>) -> Vec<usize> {
        sorted_by(selection, |a, b| a.load.in_flight.cmp(&b.load.in_flight))
    }
}

/// Tier by tier; within a tier one after the other. The next tier serves when no source of the
/// first lets the call in (songquanpeng/one-api#544).
#[derive(Debug, Default)]
pub struct Ordered {
    siblings: RoundRobin,
}

impl SourceSelector for Ordered {
    fn name(&self) -> &'static str {
        "ordered"
    }

    fn needs_load(&self) -> bool {
        false
    }

    fn order(&self, selection: &Selection<'_>) -> Vec<usize> {
        let mut order = self.siblings.order(selection);
        order.sort_by_key(|&index| selection.candidates[index].tier);
        order
    }
}

/// By weight, decided by the call's id alone: the same call has the same order everywhere.
///
/// Each source draws `ln(u) / weight` with `u` from FNV-1a over call id and source name; sorting by
/// that gives each source the first place with a chance in proportion to its weight (Efraimidis and
/// Spirakis, "Weighted random sampling with a reservoir", 2006).
#[derive(Debug)]
pub struct Weighted;

impl SourceSelector for Weighted {
    fn name(&self) -> &'static str {
        "weighted"
    }

    fn needs_load(&self) -> bool {
        false
    }

    fn order(&self, selection: &Selection<'_>) -> Vec<usize> {
        let draw = |candidate: &Candidate| {
            let hash = fnv1a(&[selection.request_id.as_bytes(), candidate.name.as_bytes()]);
            unit(hash).ln() / f64::from(candidate.weight.max(1))
        };
        sorted_by(selection, |a, b| draw(b).total_cmp(&draw(a)))
    }
}

/// The cheapest by input and output price together; those without a known price last.
#[derive(Debug)]
pub struct LowestCost;

impl SourceSelector for LowestCost {
    fn name(&self) -> &'static str {
        "lowest_cost"
    }

    fn needs_load(&self) -> bool {
        false
    }

    fn order(&self, selection: &Selection<'_>) -> Vec<usize> {
        let price = |candidate: &Candidate| candidate.price.unwrap_or(f64::INFINITY);
        sorted_by(selection, |a, b| price(a).total_cmp(&price(b)))
    }
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv), with a zero byte between the pieces and
/// a final mix, because FNV alone leaves the high bits of short inputs alike.
fn fnv1a(pieces: &[&[u8]]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for piece in pieces {
        for byte in piece.iter().chain(&[0]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

/// A number in `(0, 1)` from the high bits of a hash.
fn unit(hash: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exactly what an f64 holds")]
    let mantissa = (hash >> 11) as f64;
    (mantissa + 0.5) / 9_007_199_254_740_992.0
}

#[cfg(test)]
mod tests;
