//! Tests of where faults say that a variable was written.

use super::*;

/// A fault says where its variable was written; what was handed in has no place.
#[test]
fn a_fault_says_where_its_variable_was_written() {
    let text = "LLM__QWEN__1__BASE_URL=https://a.example/v1\nLLM__QWEN__1__API_KEY=\n\
                LLM__QWEN__1__MODEL=m\nLLM__QWEN__1__RPM=many\nLLM__QWEN__1__TTFT_TIMEOUT_S=50\n\
                LLM__SELECTR=x\nLLM__GLOBAL__TPM=900\n";
    let environment = Environment::from_dotenv(text).unwrap();
    let error = GatewaySettings::from_environment(&environment, "LLM").unwrap_err();
    let told: Vec<_> = error.faults().iter().map(|f| (&*f.path, &*f.problem)).collect();
    for wanted in [
        ("LLM__QWEN__1__API_KEY", "is blank, so not set (.env line 2)"),
        ("LLM__QWEN__1__RPM", "is `many` (.env line 4)"),
        ("LLM__SELECTR", "is no setting of this scope (.env line 6)"),
        (
            "LLM__GLOBAL__TPM",
            "is 900, less than the 1000 tokens each call is charged (.env line 7)",
        ),
        (
            "LLM__QWEN__1__INTER_TOKEN_TIMEOUT_S",
            "is 60 s by default, not less than LLM__QWEN__1__TTFT_TIMEOUT_S (50 s)",
        ),
    ] {
        assert!(told.contains(&wanted), "{wanted:?}\nin {told:#?}");
    }
    assert_eq!(told.len(), 5, "{told:#?}");
}
