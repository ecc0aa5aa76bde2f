//! The window is exact while it is small, and on the safe side when it is not.

use super::*;
use crate::doubles::{just_before, secs};

/// MEM-002: a call counts until just before 60 s after its admission.
#[test]
fn a_call_counts_for_sixty_seconds() {
    let mut window = Window::default();
    window.admit(secs(5), 10);
    window.admit(secs(7), 20);
    for (now, calls, tokens) in
        [(secs(7), 2, 30), (just_before(secs(65)), 2, 30), (secs(65), 1, 20), (secs(67), 0, 0)]
    {
        window.advance(now);
        assert_eq!((window.calls(), window.tokens()), (calls, tokens), "at {now:?}");
    }
}

/// MEM-003: a correction stays in the entry of its charge, and one that has left stays away.
#[test]
fn a_correction_leaves_with_its_entry() {
    let mut window = Window::default();
    let first = window.admit(secs(0), 10);
    let second = window.admit(secs(1), 10);
    assert!(window.correct(first, 10, 4));
    assert!(window.correct(second, 10, 30));
    assert_eq!(window.tokens(), 34);
    window.advance(secs(60));
    assert_eq!(window.tokens(), 30);
    assert!(!window.correct(first, 10, 1_000));
    assert_eq!(window.tokens(), 30);
    window.advance(secs(61));
    assert_eq!(window.tokens(), 0);
    assert!(!window.correct(second, 10, 1_000));
    assert_eq!(window.tokens(), 0);
}

/// What only a broken service reports leaves with its own entry and takes no other charge along.
#[test]
fn an_absurd_charge_leaves_alone() {
    let mut window = Window::default();
    for second in 0..3 {
        let entry = window.admit(secs(second), 1);
        window.correct(entry, 1, u64::MAX);
    }
    window.admit(secs(3), 50);
    assert_eq!(window.until_tokens_leave(secs(3), u64::MAX.into()), Some(secs(57)));
    window.advance(secs(62));
    assert_eq!(window.tokens(), 50);
}

#[test]
fn the_hint_is_the_moment_at_which_enough_has_left() {
    let mut window = Window::default();
    for second in 0..5 {
        window.admit(secs(second), 10 * (second + 1));
    }
    let now = secs(10);
    assert_eq!(window.until_calls_leave(now, 1), Some(secs(50)));
    assert_eq!(window.until_calls_leave(now, 5), Some(secs(54)));
    assert_eq!(window.until_calls_leave(now, 6), None);
    assert_eq!(window.until_tokens_leave(now, 10), Some(secs(50)));
    assert_eq!(window.until_tokens_leave(now, 11), Some(secs(51)));
    assert_eq!(window.until_tokens_leave(now, 150), Some(secs(54)));
    assert_eq!(window.until_tokens_leave(now, 151), None);
}

/// Whatever the load, the entries stay bounded, no call leaves before its 60 s have passed, and
/// none stays longer than a grain beyond them.
#[test]
fn a_huge_window_is_bounded_and_safe() {
    let mut window = Window::default();
    let step = Duration::from_micros(300);
    let count = |moment: Duration| u64::try_from(moment.as_nanos() / step.as_nanos()).unwrap();
    for tick in 1_u32..=500_000 {
        let now = step * tick;
        window.advance(now);
        window.admit(now, 1);
        assert!(window.entries.len() <= 2 * EXACT_ENTRIES + 1);
        // Calls came at every step: those that the 60 s hold, and those a grain more would.
        let least = u64::from(tick) - count(now.saturating_sub(WINDOW));
        let most = u64::from(tick) - count(now.saturating_sub(WINDOW + GRAIN));
        assert!((least..=most).contains(&window.calls()), "{} at {tick}", window.calls());
        assert_eq!(window.tokens(), window.calls().into());
    }
    assert!(window.entries.len() < 500_000 / 20, "entries are shared");
    window.advance(step * 500_000 + WINDOW);
    assert_eq!((window.calls(), window.entries.len()), (0, 0));
}

/// MEM-003: corrections of shared entries add up.
#[test]
fn corrections_of_a_shared_entry_add_up() {
    let mut window = Window::default();
    let entries: Vec<u64> =
        (0..20_000).map(|tick| window.admit(Duration::from_micros(tick), 10)).collect();
    assert_eq!(window.tokens(), 200_000);
    assert!(window.entries.len() <= EXACT_ENTRIES + 2);
    for entry in entries {
        assert!(window.correct(entry, 10, 3));
    }
    assert_eq!(window.tokens(), 60_000);
    window.advance(WINDOW + Duration::from_millis(20));
    assert_eq!((window.calls(), window.tokens()), (0, 0));
}
