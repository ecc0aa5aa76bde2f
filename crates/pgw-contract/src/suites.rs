//! The macros that write one test for each case.

/// One `#[tokio::test]` for each case of a module: `one` cases on one thread, `many` on several.
#[doc(hidden)]
#[macro_export]
macro_rules! __tests {
    ($harness:expr, $of:ident, one: [$($one:ident),* $(,)?], many: [$($many:ident),* $(,)?]) => {
        $(
            #[tokio::test]
            async fn $one() {
                $crate::$of::$one(&$harness).await;
            }
        )*
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $many() {
                $crate::$of::$many(&$harness).await;
            }
        )*
    };
}

/// Writes the tests of a limiter store. Takes an expression that makes a
/// [`LimiterHarness`](crate::LimiterHarness); each test makes one of its own.
#[macro_export]
macro_rules! limiter_suite {
    ($harness:expr) => {
        $crate::__tests!(
            $harness,
            limiter,
            one: [
                an_unknown_source_is_refused,
                without_limits_everything_passes,
                each_gate_refuses_by_its_name,
                the_first_refusing_gate_is_named,
                a_refusal_leaves_no_trace_in_other_gates,
                sources_have_gates_of_their_own,
                instances_never_interact,
                concurrency_comes_free_by_release,
                an_abandoned_lease_keeps_its_charge,
                abandoning_a_thousand_leases_leaves_nothing,
                settle_and_release_are_idempotent,
                a_lease_expires_by_itself,
                a_renewed_lease_lives_on,
                late_operations_change_nobody_elses_state,
                tokens_are_charged_at_the_door,
                settling_corrects_the_charge_in_its_window,
                settling_above_the_charge_holds_others_back,
                the_hint_of_a_window_is_exact,
                the_hint_is_that_of_the_named_gate,
                what_can_never_be_admitted_is_told_so,
                calls_and_tokens_stay_within_every_rolling_minute,
                a_dropped_acquire_leaves_no_lease,
                progress_is_remembered,
                load_is_told,
                capacity_that_comes_free_is_announced,
                histories_match_the_model,
            ],
            many: [racing_callers_stay_within_the_limits]
        );
    };
}

/// Writes the tests of a breaker store. Takes an expression that makes a
/// [`BreakerHarness`](crate::BreakerHarness); each test makes one of its own.
#[macro_export]
macro_rules! breaker_suite {
    ($harness:expr) => {
        $crate::__tests!(
            $harness,
            breaker,
            one: [
                an_unknown_source_is_refused,
                consecutive_failures_open_it,
                a_success_resets_the_count,
                the_threshold_follows_the_concurrency,
                sources_have_breakers_of_their_own,
                instances_never_interact,
                a_probe_that_succeeds_closes_it,
                a_probe_that_fails_opens_it_again,
                a_lost_probe_lets_another_caller_probe,
                a_late_probe_still_has_its_say,
                a_local_refusal_gives_no_verdict,
                giving_a_probe_back_is_idempotent,
                a_dead_source_opens_it_from_any_state,
                the_later_deadline_wins,
                verdicts_of_an_older_epoch_are_void,
                a_dead_source_is_news_in_an_older_epoch,
                no_state_lasts_for_ever,
                histories_match_the_model,
            ],
            many: [racing_callers_get_exactly_one_probe]
        );
    };
}

/// Writes the tests of a cache store. Takes an expression that makes a
/// [`CacheHarness`](crate::CacheHarness); each test makes one of its own.
#[macro_export]
macro_rules! cache_suite {
    ($harness:expr) => {
        $crate::__tests!(
            $harness,
            cache,
            one: [
                a_value_is_found_under_its_key,
                a_value_is_gone_when_its_time_is_over,
                the_last_value_counts_with_its_own_time,
                keys_that_look_alike_never_meet,
                values_are_opaque,
                instances_never_interact,
                a_dropped_set_keeps_all_or_nothing,
                histories_match_the_model,
            ],
            many: [racing_writers_leave_one_whole_value]
        );
    };
}

/// Writes the tests of a store of records. Takes an expression that makes a
/// [`TelemetryHarness`](crate::TelemetryHarness); each test makes one of its own.
#[macro_export]
macro_rules! telemetry_suite {
    ($harness:expr) => {
        $crate::__tests!(
            $harness,
            telemetry,
            one: [
                every_field_survives,
                absent_fields_stay_absent,
                odd_texts_survive,
                a_known_id_is_ignored,
                a_receipt_comes,
                a_receipt_that_nobody_reads_changes_nothing,
                flushing_waits_for_everything_offered,
                closing_is_idempotent_and_final,
                offers_from_outside_a_runtime_are_taken,
                offers_never_wait_for_the_store,
            ],
            many: [racing_offers_lose_nothing]
        );
    };
}
