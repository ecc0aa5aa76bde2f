//! What is asked: arguments, standard input or a file become one request.

use std::{
    fs, io,
    io::{IsTerminal as _, Read as _},
    path::Path,
};

use pgw_client::{ChatRequest, Message, RequestFault, Thinking};

use crate::args::{ChatArgs, Switch};

/// Why there is nothing to send.
#[derive(Debug, PartialEq)]
pub(crate) enum Unasked {
    /// The arguments don't say what to ask, or what they name can't be read.
    Usage(String),
    /// The body that was given is no request.
    Body(Vec<RequestFault>),
}

/// Standard input, or a double of it.
pub(crate) trait Input {
    /// Whether a person would have to type it.
    fn is_terminal(&self) -> bool;

    /// All of it.
    fn read(&self) -> io::Result<Vec<u8>>;
}

/// The standard input of the process.
pub(crate) struct Stdin;

impl Input for Stdin {
    fn is_terminal(&self) -> bool {
        io::stdin().is_terminal()
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The request that the arguments ask for.
pub(crate) fn request(args: &ChatArgs, stdin: &impl Input) -> Result<ChatRequest, Unasked> {
    let mut request = if let Some(path) = &args.request {
        body(path, stdin)?
    } else {
        let system = args.system.iter().map(Message::system);
        let prompt = prompt(args.prompt.as_deref(), stdin)?;
        ChatRequest::new(system.chain([Message::user(prompt)]).collect())
    };
    if let Some(model) = &args.model {
        request.model = Some(model.clone());
    }
    if let Some(tokens) = args.max_tokens {
        // A body may have the limit under its newer name; two limits would contradict each other.
        match &mut request.max_completion_tokens {
            Some(limit) => *limit = tokens,
            None => request.max_tokens = Some(tokens),
        }
    }
    if let Some(temperature) = args.temperature {
        request.temperature = Some(temperature);
    }
    match args.thinking {
        Some(Switch::On) => request.thinking = Some(Thinking::On { budget: None }),
        Some(Switch::Off) => request.thinking = Some(Thinking::Off),
        None => {}
    }
    Ok(request)
}

fn prompt(argument: Option<&str>, stdin: &impl Input) -> Result<String, Unasked> {
    if let Some(text) = argument.filter(|text| *text != "-") {
        return Ok(text.to_owned());
    }
    if argument.is_none() && stdin.is_terminal() {
        let hint =
            "there is nothing to ask: write a prompt, or pipe one in; `-` reads what you type";
        return Err(Unasked::Usage(hint.into()));
    }
    let bytes = stdin.read().map_err(|error| unreadable("standard input", &error))?;
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(Unasked::Usage("the prompt on standard input is not UTF-8 text".into()));
    };
    // The last line end is the shell's, as with `$(…)`.
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(Unasked::Usage("the prompt on standard input is empty".into()));
    }
    Ok(text.to_owned())
}

fn body(path: &Path, stdin: &impl Input) -> Result<ChatRequest, Unasked> {
    let read = if path == Path::new("-") {
        stdin.read().map_err(|error| unreadable("standard input", &error))
    } else {
        fs::read(path).map_err(|error| unreadable(&path.display().to_string(), &error))
    };
    let bytes = read?;
    // A reader may skip a byte order mark (RFC 8259 §8.1); editors on Windows write one.
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let body = serde_json::from_slice(text).map_err(|error| {
        Unasked::Body(vec![RequestFault {
            field: "(body)".into(),
            problem: format!("is not JSON: {error}"),
            fix: "send one JSON object with at least `messages`".into(),
        }])
    })?;
    // How the caller wants it delivered is said by our own options.
    let (request, _delivery) = ChatRequest::from_openai(body).map_err(Unasked::Body)?;
    Ok(request)
}

fn unreadable(what: &str, error: &io::Error) -> Unasked {
    Unasked::Usage(format!("can't read {what}: {error}"))
}

#[cfg(test)]
mod tests;
