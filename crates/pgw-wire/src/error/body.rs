//! What an error body says, in any of the shapes that services write (listed in wire.md, "Error
//! bodies"; songquanpeng/one-api `relay/controller/error.go` tries much the same).

use serde_json::{Map, Value};

/// The parts of an error report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Report {
    /// What may be looked up in the tables: code, type, Google's status word; the innermost
    /// report's first.
    pub(crate) words: Vec<String>,
    /// The status that the report names, if it names one.
    pub(crate) status: Option<u16>,
    pub(crate) message: String,
    pub(crate) param: Option<String>,
    pub(crate) retry_delay: Option<String>,
    pub(crate) is_page: bool,
    /// Whether the limit is one of calls under way (OpenRouter's `limit_source`).
    pub(crate) is_in_flight: bool,
}

/// How deep reports within reports are looked into: a relay wraps a provider, hardly ever twice.
const DEPTH: u8 = 3;

impl Report {
    /// Reads a body, or the text of an error frame.
    pub(crate) fn read(text: &str) -> Self {
        let mut report = Self::default();
        report.read_text(text, DEPTH);
        report
    }

    pub(crate) fn mentions_model(&self) -> bool {
        self.message.to_lowercase().contains("model")
    }

    fn read_text(&mut self, text: &str, depth: u8) {
        let trimmed = text.trim().trim_start_matches('\u{feff}');
        if trimmed.starts_with(['{', '['])
            && let Ok(value) = serde_json::from_str::<Value>(trimmed)
        {
            return self.read_value(&value, depth);
        }
        if let Ok(Value::String(bare)) = serde_json::from_str::<Value>(trimmed) {
            self.message = bare;
            return;
        }
        // An error frame as a body (DeliciousBuding/new-api#142), or in a message.
        let data = trimmed.lines().find_map(|line| line.strip_prefix("data:").map(str::trim));
        if let Some(value) = data.and_then(|data| serde_json::from_str::<Value>(data).ok()) {
            return self.read_value(&value, depth);
        }
        if trimmed.starts_with('<') {
            self.is_page = true;
            self.message = page_text(trimmed);
            return;
        }
        trimmed.clone_into(&mut self.message);
    }

    fn read_value(&mut self, value: &Value, depth: u8) {
        match value {
            // Google's list of one.
            Value::Array(items) => {
                if let Some(first) = items.first().filter(|_| depth > 0) {
                    self.read_value(first, depth - 1);
                }
            }
            Value::Object(map) => self.read_object(map, depth),
            Value::String(text) => text.clone_into(&mut self.message),
            _ => {}
        }
    }

    fn read_object(&mut self, map: &Map<String, Value>, depth: u8) {
        match map.get("error") {
            Some(Value::Object(inner)) => self.read_error(inner, depth),
            // `{"error": "LABEL", "message": "text"}` (Scaleway) or `{"error": "text"}` (LM Studio).
            Some(Value::String(text)) => {
                if map.get("message").is_some_and(Value::is_string) {
                    self.words.push(text.clone());
                } else {
                    self.message.clone_from(text);
                }
            }
            _ => {}
        }
        self.read_error(map, depth);
        // Two shapes more that one-api knows.
        if let Some(Value::Object(header)) = map.get("header") {
            self.read_error(header, depth);
        }
        match map.get("response").and_then(|response| response.get("error")) {
            Some(Value::Object(inner)) => self.read_error(inner, depth),
            Some(Value::String(text)) if self.message.is_empty() => self.message.clone_from(text),
            _ => {}
        }
    }

    /// Takes over what is not known yet; the innermost report was read first.
    fn read_error(&mut self, map: &Map<String, Value>, depth: u8) {
        let word = |name: &str| match map.get(name) {
            Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let number = |name: &str| word(name)?.parse().ok().filter(|n| (400..600).contains(n));
        self.status = self.status.or_else(|| number("code")).or_else(|| number("status"));
        let inner = map.get("innererror").and_then(|inner| inner.get("code")?.as_str());
        let words = [
            word("code"),
            // The outer `"type": "error"` only says that this is one.
            word("type").filter(|kind| kind != "error"),
            word("status").filter(|word| !word.bytes().all(|b| b.is_ascii_digit())),
            inner.map(str::to_owned),
        ];
        self.words.extend(words.into_iter().flatten());
        self.param = self.param.take().or_else(|| word("param"));
        for name in ["message", "msg", "err", "error_msg"] {
            if self.message.is_empty()
                && let Some(text) = map.get(name).and_then(Value::as_str)
            {
                self.read_message(text, depth);
            }
        }
        if self.message.is_empty()
            && let Some(detail) = map.get("detail")
        {
            self.read_detail(detail);
        }
        self.read_details(map);
        let source =
            map.get("metadata").and_then(|metadata| metadata.get("limit_source")?.as_str());
        self.is_in_flight |= source.is_some_and(|source| source.contains("in_flight"));
        // What the provider behind OpenRouter said (openrouter.ai, errors: metadata.raw).
        if let Some(raw) = map.get("metadata").and_then(|metadata| metadata.get("raw"))
            && depth > 0
        {
            let mut nested = Self::default();
            match raw {
                Value::String(text) => nested.read_text(text, depth - 1),
                other => nested.read_value(other, depth - 1),
            }
            self.words.extend(nested.words);
            if !nested.message.is_empty() {
                self.message = format!("{}: {}", self.message, nested.message);
            }
        }
    }

    /// A message may hold a whole report of its own.
    fn read_message(&mut self, text: &str, depth: u8) {
        let inner = text.trim_start();
        let is_report = inner.starts_with('{') || inner.starts_with("data:");
        if depth > 0 && is_report {
            let mut nested = Self::default();
            nested.read_text(inner, depth - 1);
            if !nested.message.is_empty() && nested.message != inner {
                self.words.extend(nested.words);
                self.status = self.status.or(nested.status);
                self.message = nested.message;
                return;
            }
        }
        text.clone_into(&mut self.message);
    }

    /// `FastAPI`: `{"detail": "text"}` or `{"detail": [{"loc": […], "msg": "…", "type": "…"}]}`.
    fn read_detail(&mut self, detail: &Value) {
        match detail {
            Value::String(text) => self.message.clone_from(text),
            Value::Array(items) => {
                let lines = items.iter().map(|item| {
                    let place = item.get("loc").and_then(Value::as_array).map(|loc| {
                        let parts = loc.iter().map(|part| match part {
                            Value::String(text) => text.clone(),
                            other => other.to_string(),
                        });
                        parts.collect::<Vec<_>>().join(".")
                    });
                    let text = item.get("msg").and_then(Value::as_str).unwrap_or_default();
                    (place, text.to_owned())
                });
                let lines: Vec<_> = lines.collect();
                self.param = self.param.take().or_else(|| {
                    let place = lines.first()?.0.as_ref()?;
                    Some(place.strip_prefix("body.").unwrap_or(place).to_owned())
                });
                let lines = lines.into_iter().map(|(place, text)| match place {
                    Some(place) => format!("{place}: {text}"),
                    None => text,
                });
                self.message = lines.collect::<Vec<_>>().join("; ");
            }
            _ => {}
        }
    }

    /// Google's details: a waiting time, and whether the quota is a day's.
    fn read_details(&mut self, map: &Map<String, Value>) {
        let details = map.get("details").and_then(Value::as_array);
        for detail in details.into_iter().flatten() {
            if let Some(delay) = detail.get("retryDelay").and_then(Value::as_str) {
                self.retry_delay = Some(delay.to_owned());
            }
            let violations = detail.get("violations").and_then(Value::as_array);
            for violation in violations.into_iter().flatten() {
                if let Some(id) = violation.get("quotaId").and_then(Value::as_str) {
                    self.message = format!("{} ({id})", self.message);
                }
            }
        }
    }
}

/// The words of a page: its title, or the start of its text.
fn page_text(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let end = lower[start..].find("</title>")?;
        page.get(start + 7..start + end)
    });
    if let Some(title) = title.map(str::trim).filter(|title| !title.is_empty()) {
        return format!("a page came: {title}");
    }
    let mut text = String::new();
    let mut inside = false;
    for letter in page.chars().take(4_000) {
        match letter {
            '<' => inside = true,
            '>' => {
                inside = false;
                text.push(' ');
            }
            other if !inside => text.push(other),
            _ => {}
        }
    }
    let words: Vec<_> = text.split_whitespace().collect();
    format!("a page came: {}", words.join(" "))
}
