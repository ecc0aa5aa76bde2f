//! An answer as text: its content on standard output, everything else beside it.

use std::io;

use pgw_client::{LlmResponse, ToolCall};

use crate::{console, output};

/// The answer as far as it has been printed.
#[derive(Debug)]
pub(crate) struct Page {
    show_thinking: bool,
    /// Whether the last line of the content still lacks its end.
    content_open: bool,
    /// Whether the last line of the thinking still lacks its end.
    thinking_open: bool,
}

impl Page {
    pub(crate) const fn new(show_thinking: bool) -> Self {
        Self { show_thinking, content_open: false, thinking_open: false }
    }

    /// Prints more of the content.
    pub(crate) fn content(&mut self, text: &str) -> io::Result<()> {
        self.end_thinking();
        console::out(text)?;
        self.content_open = is_open(text, self.content_open);
        Ok(())
    }

    /// Prints more of the thinking, if it is wanted.
    pub(crate) fn thinking(&mut self, text: &str) {
        if self.show_thinking {
            console::err(text);
            self.thinking_open = is_open(text, self.thinking_open);
        }
    }

    /// Ends open lines, so that whatever follows begins on its own.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.end_thinking();
        if self.content_open {
            self.content_open = false;
            console::out("\n")?;
        }
        Ok(())
    }

    fn end_thinking(&mut self) {
        if self.thinking_open {
            self.thinking_open = false;
            console::err("\n");
        }
    }
}

fn is_open(text: &str, before: bool) -> bool {
    if text.is_empty() { before } else { !text.ends_with('\n') }
}

/// Prints what of a finished answer is not content of its first choice.
pub(crate) fn rest(response: &LlmResponse) -> io::Result<()> {
    tools(&response.tool_calls)?;
    refusal(response.refusal.as_deref());
    for (index, choice) in response.other_choices.iter().enumerate() {
        console::err(&format!("pgw: answer {}:\n", index + 2));
        let mut page = Page::new(false);
        page.content(&choice.content)?;
        page.end()?;
        tools(&choice.tool_calls)?;
        refusal(choice.refusal.as_deref());
    }
    for warning in &response.warnings {
        console::err(&format!("pgw: warning: {}\n", output::warning(*warning)));
    }
    Ok(())
}

fn tools(calls: &[ToolCall]) -> io::Result<()> {
    calls.iter().try_for_each(|call| console::out(&output::json(call)?))
}

fn refusal(text: Option<&str>) {
    if let Some(text) = text {
        console::err(&format!("pgw: the model refused: {text}\n"));
    }
}
