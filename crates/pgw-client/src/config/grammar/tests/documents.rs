//! Tests that what people read agrees with the grammar.

use super::{
    super::super::keys::{FLAT, PGW, SCOPE_KEYS},
    *,
};

/// The example and the documentation name what there is, and the example's defaults are the defaults.
#[test]
fn the_example_and_the_documentation_agree_with_the_grammar() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let example = std::fs::read_to_string(format!("{root}/.env.example")).unwrap();
    let parsed = |text: &str| {
        let environment = Environment::from_dotenv(text).unwrap();
        GatewaySettings::from_environment(&environment, "LLM").unwrap_or_else(|e| panic!("{e}"))
    };
    let uncommented: Vec<_> = example
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(variable) if variable.contains('=') => variable,
            _ => line,
        })
        .collect();
    let uncommented = uncommented.join("\n");
    assert_eq!(parsed(&example).checksum(), parsed(&uncommented).checksum());

    let page = std::fs::read_to_string(format!("{root}/docs/configuration.md")).unwrap();
    for (_, field) in numbered_fields() {
        assert!(uncommented.contains(&format!("\nLLM__QWEN__1__{field}=")), "{field}");
        assert!(page.contains(&format!("`{field}`")), "{field}");
    }
    for (_, setting, _) in SCOPE_KEYS {
        assert!(uncommented.contains(&format!("\nLLM__{setting}=")), "{setting}");
        assert!(page.contains(&format!("`{setting}`")), "{setting}");
    }
    for name in PGW.iter().chain(FLAT.iter().map(|(name, _)| name)) {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}
