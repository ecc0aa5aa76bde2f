//! Where chat requests go.

/// The chat endpoint below an API root. A slash is never doubled, `/v1` neither; a query survives
/// (Azure's `api-version`), and a root that names the endpoint already is left as it is.
#[must_use]
pub fn url(base_url: &str) -> String {
    const ENDPOINT: &str = "/chat/completions";
    let (root, query) = match base_url.trim().split_once('?') {
        Some((root, query)) => (root, Some(query)),
        None => (base_url.trim(), None),
    };
    let root = root.trim_end_matches('/');
    let root = root.strip_suffix(ENDPOINT).unwrap_or(root).trim_end_matches('/');
    match query {
        Some(query) => format!("{root}{ENDPOINT}?{query}"),
        None => format!("{root}{ENDPOINT}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expectations row 159.
    #[test]
    fn nothing_is_doubled_and_a_query_survives() {
        for (base, wanted) in [
            ("https://a.example/v1", "https://a.example/v1/chat/completions"),
            ("https://a.example/v1/", "https://a.example/v1/chat/completions"),
            (" https://a.example/v1// ", "https://a.example/v1/chat/completions"),
            ("https://a.example/v1/chat/completions/", "https://a.example/v1/chat/completions"),
            ("https://a.example/api/paas/v4", "https://a.example/api/paas/v4/chat/completions"),
            (
                "https://a.example/openai/deployments/d?api-version=1",
                "https://a.example/openai/deployments/d/chat/completions?api-version=1",
            ),
        ] {
            assert_eq!(url(base), wanted);
        }
    }
}
