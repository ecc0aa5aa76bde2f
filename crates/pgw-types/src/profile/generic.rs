//! Any service or relay that speaks the dialect: no words of its own, and everybody's are understood.

use super::ProviderProfile;

pub(super) fn profile() -> ProviderProfile {
    ProviderProfile::plain("generic", &[])
}
