//! Halves of surrogate pairs, which JSON can write and UTF-8 can't.
//!
//! RFC 8259 §8.2 lets `"\ud83d"` stand alone and calls its meaning unpredictable; `serde_json` refuses
//! the whole document. The half character is lost either way; the rest need not be.

/// The document with every half without its other half written as U+FFFD; `None` if there is none.
pub(crate) fn replace_halves(json: &str) -> Option<String> {
    let mut out = String::new();
    // Everything up to here is in `out` already.
    let mut done = 0;
    let mut at = 0;
    while let Some(found) = json.get(at..).and_then(|rest| rest.find('\\')) {
        let start = at + found;
        match (unit(json, start), unit(json, start + LENGTH)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at = start + 2 * LENGTH,
            (Some(0xd800..=0xdfff), _) => {
                out.push_str(&json[done..start]);
                out.push_str("\\ufffd");
                at = start + LENGTH;
                done = at;
            }
            // Another escape: what it escapes can't begin one.
            _ => at = start + 2,
        }
    }
    (done > 0).then(|| out + &json[done..])
}

/// The letters of `\uXXXX`.
const LENGTH: usize = 6;

/// The UTF-16 unit that is escaped at a place.
fn unit(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + LENGTH)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_are_replaced() {
        for (json, wanted) in [
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\ude00b""#, Some(r#""\ufffdb""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\ud83d你""#, Some(r#""\ufffd你""#)),
            (r#""\ud83d\n\uD83D""#, Some(r#""\ufffd\n\ufffd""#)),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""\u00e9 \"""#, None),
            (r#""\u+123""#, None),
            ("\\", None),
            ("\\ud8", None),
            ("\\你", None),
            ("", None),
        ] {
            assert_eq!(replace_halves(json).as_deref(), wanted, "{json}");
        }
    }
}
