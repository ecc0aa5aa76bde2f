//! Whether a JSON object that comes in pieces is complete.

/// How deep a text stands in a JSON object, read piece by piece. Text that is no object never counts
/// as complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Depth {
    open: u32,
    in_text: bool,
    escaped: bool,
    begun: bool,
}

impl Depth {
    /// Reads on.
    pub(crate) fn read(&mut self, piece: &str) {
        for byte in piece.bytes() {
            if self.escaped {
                self.escaped = false;
            } else if self.in_text {
                match byte {
                    b'\\' => self.escaped = true,
                    b'"' => self.in_text = false,
                    _ => {}
                }
            } else {
                match byte {
                    b'"' => self.in_text = true,
                    b'{' | b'[' => {
                        self.begun = true;
                        self.open = self.open.saturating_add(1);
                    }
                    b'}' | b']' => self.open = self.open.saturating_sub(1),
                    _ => {}
                }
            }
        }
    }

    /// Whether an object was opened and everything in it is closed.
    pub(crate) const fn is_complete(self) -> bool {
        self.begun && self.open == 0 && !self.in_text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_closed_object_is_complete() {
        for (text, complete) in [
            ("{}", true),
            (r#"{"a":"}"}"#, true),
            (r#"{"a":"\"}"}"#, true),
            (r#"{"a":[1,{"b":2}]} "#, true),
            (r#"{"a":"}"#, false),
            (r#"{"a":[1]"#, false),
            ("", false),
            ("null", false),
        ] {
            let (mut whole, mut pieces) = (Depth::default(), Depth::default());
            whole.read(text);
            text.split("").for_each(|piece| pieces.read(piece));
            assert_eq!((whole.is_complete(), pieces.is_complete()), (complete, complete), "{text}");
        }
    }
}
