//! The error types keep their promises to callers.

use super::*;

#[test]
fn names_of_kinds_are_distinct() {
    let mut names: Vec<_> = HttpErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), HttpErrorKind::ALL.len());
}

#[test]
fn display_states_one_level_and_source_keeps_the_chain() {
    let error = HttpError::new(HttpErrorKind::Tls, Reason("unknown issuer"));
    assert_eq!(error.to_string(), "could not agree on TLS");
    assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("unknown issuer"));
    assert!(HttpError::bare(HttpErrorKind::ReadTimeout).source().is_none());
}

#[test]
fn errors_travel_between_tasks_and_stay_small() {
    fn travels<T: Send + Sync + 'static>() {}
    travels::<HttpError>();
    travels::<HttpSetupError>();
    assert!(size_of::<HttpError>() <= 24, "it is the Err of every chunk");
}
