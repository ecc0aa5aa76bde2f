//! Cuts a failing history down to what it needs to fail.

/// More replays than this are not worth the wait.
const MOST_REPLAYS: usize = 400;

/// Leaves out runs of steps, long ones first, as long as what remains still fails. `fails` says
/// how. Returns the shortest history found and its failure.
pub(crate) async fn shrink<S: Clone>(
    mut steps: Vec<S>,
    mut failure: String,
    fails: impl AsyncFn(&[S]) -> Option<String>,
) -> (Vec<S>, String) {
    let mut replays = 0;
    let mut run = steps.len().div_ceil(2);
    while run > 0 {
        let mut start = 0;
        let mut shorter = false;
        while start < steps.len() {
            if replays == MOST_REPLAYS {
                return (steps, failure);
            }
            replays += 1;
            let mut rest = steps.clone();
            rest.drain(start..(start + run).min(steps.len()));
            if let Some(reason) = fails(&rest).await {
                (steps, failure) = (rest, reason);
                shorter = true;
            } else {
                start += run;
            }
        }
        if run > 1 || !shorter {
            run /= 2;
        }
    }
    (steps, failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_not_needed_is_left_out() {
        let steps: Vec<u32> = (0..100).collect();
        let fails = async |steps: &[u32]| {
            let needed = steps.contains(&13) && steps.contains(&77);
            needed.then(|| format!("{} steps", steps.len()))
        };
        let (steps, failure) = shrink(steps, "all".into(), fails).await;
        assert_eq!((steps, failure.as_str()), (vec![13, 77], "2 steps"));
    }
}
