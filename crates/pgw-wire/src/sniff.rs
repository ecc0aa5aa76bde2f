//! What a body really is, judged by its first bytes.
//!
//! Content types are wrong too often to go by: streams under `application/json`, JSON under
//! `text/event-stream`, login pages with status 200 (exo-explore/exo#175, `sfortis/openai_tts`#73,
//! NEKOparapa/AiNiee#151).

/// The kinds of body that services send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// Nothing but blanks so far.
    Empty,
    /// A JSON object or list.
    Json,
    /// A bare JSON string.
    BareString,
    /// A page.
    Html,
    /// Server-sent events.
    Sse,
    /// Anything else.
    Text,
}

/// The longest field name of server-sent events that tells them from text, with its colon.
const LONGEST_FIELD: usize = 6;

/// Judges a body by its first bytes. `None`: too few bytes to tell; ask again with more, or with
/// `ended` once there are no more.
#[must_use]
pub fn sniff(start: &[u8], ended: bool) -> Option<BodyKind> {
    // A byte order mark may stand first (WHATWG HTML §9.2).
    const BOM: &[u8] = b"\xef\xbb\xbf";
    if !ended && start.len() < BOM.len() && BOM.starts_with(start) {
        return None;
    }
    let start = start.strip_prefix(BOM).unwrap_or(start);
    let Some(first) = start.iter().position(|byte| !byte.is_ascii_whitespace()) else {
        return ended.then_some(BodyKind::Empty);
    };
    let rest = &start[first..];
    match rest[0] {
        b'{' | b'[' => Some(BodyKind::Json),
        b'"' => Some(BodyKind::BareString),
        b'<' => Some(BodyKind::Html),
        b':' => Some(BodyKind::Sse),
        _ => {
            let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b"error:"];
            if fields.iter().any(|field| rest.starts_with(field)) {
                return Some(BodyKind::Sse);
            }
            let may_become = fields.iter().any(|field| field.starts_with(rest));
            let short = rest.len() < LONGEST_FIELD && may_become;
            if short && !ended { None } else { Some(BodyKind::Text) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_judged_by_their_first_bytes() {
        for (body, kind) in [
            (&b"\n\n {\"a\":1}"[..], BodyKind::Json),
            (b"[1]", BodyKind::Json),
            (b"\"suspended\"", BodyKind::BareString),
            (b"<!doctype html>", BodyKind::Html),
            (b": PING\n\n", BodyKind::Sse),
            (b"data:{}", BodyKind::Sse),
            (b"\xef\xbb\xbfdata: {}", BodyKind::Sse),
            (b"error: {}", BodyKind::Sse),
            (b"upstream gone", BodyKind::Text),
            (b"dat", BodyKind::Text),
            (b" \n", BodyKind::Empty),
            (b"", BodyKind::Empty),
        ] {
            assert_eq!(sniff(body, true), Some(kind), "{:?}", String::from_utf8_lossy(body));
        }
    }

    /// OAI-004: the judgement does not depend on how the bytes come in.
    #[test]
    fn a_judgement_is_never_taken_back() {
        for body in [&b"\xef\xbb\xbf\n data: {}"[..], b"event: x", b"retry: 5", b"dat and more"] {
            let whole = sniff(body, true);
            for cut in 0..body.len() {
                let early = sniff(&body[..cut], false);
                assert!(early.is_none() || early == whole, "{cut} of {body:?}: {early:?}");
            }
        }
    }
}
