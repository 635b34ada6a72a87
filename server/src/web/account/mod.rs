//! Pages of a person's own account: signing in, sessions, profile, second step, links for others.

pub(super) mod device;
pub(super) mod link;
pub(super) mod owner_check;
pub(super) mod pending_sign_in;
pub(super) mod profile;
pub(super) mod routes;
pub(super) mod second_step;
pub(super) mod session_use;
pub(super) mod sign_in;
pub(super) mod totp;
