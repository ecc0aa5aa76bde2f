//! Tests of the built-in selectors.

use std::sync::Arc;

use pgw_types::SourceLoad;

use super::*;

fn candidate(name: &str, tier: u32, weight: u32, price: Option<f64>) -> Candidate {
    let name = Arc::from(name);
    Candidate { name, tier, weight, price, load: SourceLoad::default(), failures: 0 }
}

fn order(selector: &dyn SourceSelector, id: &str, candidates: &[Candidate]) -> Vec<String> {
    let order = selector.order(&Selection { request_id: id, candidates });
    order.into_iter().map(|index| candidates[index].name.to_string()).collect()
}

fn plain(names: &[&str]) -> Vec<Candidate> {
    names.iter().map(|name| candidate(name, 0, 1, None)).collect()
}

/// CLI-034: fair over any number of sources.
#[test]
fn round_robin_is_fair() {
    let (selector, sources) = (RoundRobin::default(), plain(&["a", "b", "c"]));
    let firsts: String = (0..6).map(|_| order(&selector, "x", &sources)[0].clone()).collect();
    assert_eq!(firsts, "abcabc");
}

/// CLI-034: the minimum, ties in configured order.
#[test]
fn least_inflight_takes_the_idlest_with_stable_ties() {
    let mut sources = plain(&["a", "b", "c"]);
    sources[0].load.in_flight = 2;
    assert_eq!(order(&LeastInflight, "x", &sources), ["b", "c", "a"]);
}

/// D49: siblings of the first tier before the next tier.
#[test]
fn ordered_goes_tier_by_tier_and_turns_within() {
    let sources =
        [candidate("a", 1, 1, None), candidate("b", 0, 1, None), candidate("c", 0, 1, None)];
    let selector = Ordered::default();
    let orders: Vec<_> = (0..3).map(|_| order(&selector, "x", &sources).concat()).collect();
    assert!(orders.iter().all(|order| order.ends_with('a')), "{orders:?}");
    assert!(orders.iter().any(|order| order.starts_with('b')));
    assert!(orders.iter().any(|order| order.starts_with('c')));
}

/// GWY-084: the same id has the same order, and the first places follow the weights.
#[test]
fn weighted_is_stable_per_call_and_true_to_its_weights() {
    let sources = [candidate("a", 0, 3, None), candidate("b", 0, 1, None)];
    assert_eq!(order(&Weighted, "id-7", &sources), order(&Weighted, "id-7", &sources));
    let firsts =
        (0..10_000).filter(|n| order(&Weighted, &format!("id-{n}"), &sources)[0] == "a").count();
    assert!((7_300..7_700).contains(&firsts), "{firsts} of 10000 for weight 3 of 4");
}

/// GWY-085.
#[test]
fn lowest_cost_takes_the_cheapest_and_unknown_prices_last() {
    let sources = [
        candidate("a", 0, 1, None),
        candidate("b", 0, 1, Some(3.0)),
        candidate("c", 0, 1, Some(0.5)),
    ];
    assert_eq!(order(&LowestCost, "x", &sources), ["c", "b", "a"]);
}

#[test]
fn every_name_has_its_selector() {
    for name in NAMES {
        assert_eq!(by_name(name).unwrap().name(), name);
    }
    assert!(by_name("fastest").is_none());
}
