//! `pgw demo`: every outcome is the expected one, or it does not end with 0.

use crate::pgw::Desk;

#[test]
fn the_demonstration_ends_well_and_tells_six_calls_and_the_totals() {
    let ended = Desk::new().run(&["demo"]).with_code(0);
    for line in [
        "1. plain: ",
        "2. limited: ",
        "3. cut: ",
        "4. stalled: ",
        "5. dead: ",
        "6. refused: ",
        "limits our rate (HTTP 429), asks to wait 1 s",
        "broke off in the middle",
        "took too long",
        "refuses the key (HTTP 401)",
        "has no money or quota left for us (HTTP 402)",
        "finds the prompt too long for the model (HTTP 400)",
        "Call records (SQLite), by source:",
        "pgw chat",
    ] {
        assert!(ended.out.contains(line), "{line} is not in:\n{}", ended.out);
    }
    assert!(!ended.out.contains("UNEXPECTED"), "{}", ended.out);
    let totals = |name: &str| {
        let table = ended.out.split("by source:").nth(1).unwrap();
        let row = table.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        let numbers: Vec<&str> = row.split_whitespace().skip(1).take(2).collect();
        numbers.join(" ")
    };
    assert_eq!(
        (totals("north"), totals("south"), totals("west")),
        ("6 5".into(), "4 1".into(), "1 0".into())
    );
    assert!(!ended.out.contains("unknown"), "a cost is unknown:\n{}", ended.out);
}
