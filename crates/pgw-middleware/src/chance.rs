//! Chance in production.

use pgw_ports::Jitter;

/// Random jitter, seeded by the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomJitter;

impl Jitter for RandomJitter {
    fn unit(&self) -> f64 {
        fastrand::f64()
    }
}
