//! Leases end once, in order, and leave no memory behind.

use super::*;
use crate::doubles::secs;

fn held() -> Held {
    Held::new(0, 10, 0, 0)
}

/// MEM-004, PRT-007: a lease ends at its time unless it was renewed.
#[test]
fn leases_expire_in_the_order_of_their_last_renewal() {
    let mut leases = Leases::new(secs(10));
    let first = leases.grant(secs(0), held());
    let second = leases.grant(secs(1), held());
    leases.renew(secs(2), first, 0);
    assert_eq!(leases.earliest_expiry(secs(2)), secs(11));
    assert!(leases.expire_one(secs(10)).is_none());
    assert!(leases.expire_one(secs(11)).is_some());
    assert!(leases.get_mut(second, 0).is_none());
    assert!(leases.expire_one(secs(11)).is_none());
    assert_eq!(leases.earliest_expiry(secs(11)), secs(12));
    assert!(leases.expire_one(secs(12)).is_some());
    assert!(leases.get_mut(first, 0).is_none());
    assert_eq!(leases.earliest_expiry(secs(20)), secs(30), "as for a lease granted now");
}

/// PRT-006: a lease ends once, and only under its own source.
#[test]
fn a_lease_ends_once() {
    let mut leases = Leases::new(secs(10));
    let id = leases.grant(secs(0), held());
    assert!(leases.end(id, 1).is_none());
    assert!(leases.end(id, 0).is_some());
    assert!(leases.end(id, 0).is_none());
    leases.renew(secs(1), id, 0);
    assert!(leases.get_mut(id, 0).is_none(), "a renewal revives nobody");
}

#[test]
fn memory_follows_the_leases_that_live() {
    let mut leases = Leases::new(secs(600));
    let kept = leases.grant(secs(0), held());
    for tick in 1..100_000 {
        let now = Duration::from_millis(tick);
        let id = leases.grant(now, held());
        leases.renew(now, kept, 0);
        leases.end(id, 0);
        assert!(leases.order.len() <= 2 * leases.by_id.len() + SLACK + 2);
    }
    assert_eq!(leases.by_id.len(), 1);
    assert_eq!(leases.earliest_expiry(secs(100)), Duration::from_millis(99_999) + secs(600));
}
