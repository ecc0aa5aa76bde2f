//! What `chat` takes as messages.

use pgw_types::Message;

/// A conversation, from whatever the caller has at hand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Messages(pub Vec<Message>);

impl From<Vec<Message>> for Messages {
    fn from(messages: Vec<Message>) -> Self {
        Self(messages)
    }
}

impl From<&[Message]> for Messages {
    fn from(messages: &[Message]) -> Self {
        Self(messages.to_vec())
    }
}

impl<const N: usize> From<[Message; N]> for Messages {
    fn from(messages: [Message; N]) -> Self {
        Self(messages.into())
    }
}

impl From<Message> for Messages {
    fn from(message: Message) -> Self {
        Self(vec![message])
    }
}

impl From<&str> for Messages {
    /// One message of the user.
    fn from(text: &str) -> Self {
        Self(vec![Message::user(text)])
    }
}

impl From<String> for Messages {
    /// One message of the user.
    fn from(text: String) -> Self {
        Self(vec![Message::user(text)])
    }
}
