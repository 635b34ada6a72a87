//! Passwords: what is accepted as one, and what is stored of it.

use std::fmt;
use std::sync::LazyLock;

use argon2::password_hash::PasswordHasher;
use argon2::{Algorithm, Argon2, Params, PasswordHash, PasswordVerifier, Version};

/// Characters of a password, at least (API.md, 12.5).
pub const PASSWORD_CHARS_MIN: usize = 8;
/// Bytes of a password, at most: a bound on the work of one request.
pub const PASSWORD_BYTES_MAX: usize = 256;

const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const SALT_BYTES: usize = 16;

/// A password that may be stored: long enough and not absurd.
///
/// Its `Debug` does not show it.
#[derive(Clone)]
pub struct Password(String);

/// Why a text is no password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordFault {
    /// Fewer than [`PASSWORD_CHARS_MIN`] characters.
    TooShort,
    /// More than [`PASSWORD_BYTES_MAX`] bytes.
    TooLong,
}

impl Password {
    /// Takes a text as it was typed: nothing is trimmed, nothing is required but a length.
    pub fn parse(text: &str) -> Result<Self, PasswordFault> {
        if text.chars().count() < PASSWORD_CHARS_MIN {
            return Err(PasswordFault::TooShort);
        }
        if PASSWORD_BYTES_MAX < text.len() {
            return Err(PasswordFault::TooLong);
        }
        Ok(Self(text.to_owned()))
    }

    /// The PHC string to be stored, with a new random salt: argon2id, 19 MiB, two passes.
    ///
    /// Cost: about 20 ms and 19 MiB; in the server it runs on the password pool only.
    pub fn hash(&self) -> String {
        hash_text(&self.0)
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

impl fmt::Display for PasswordFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort => write!(f, "a password has at least {PASSWORD_CHARS_MIN} characters"),
            Self::TooLong => write!(f, "a password has at most {PASSWORD_BYTES_MAX} bytes"),
        }
    }
}

/// Whether `text` is the password behind `stored`. Without a stored hash (there is no such
/// account) the same work is done on another one and the answer is no.
///
/// Cost: that of [`Password::hash`].
pub fn verify(text: &str, stored: Option<&str>) -> bool {
    static NOBODY: LazyLock<String> = LazyLock::new(|| hash_text("nobody's password"));
    let phc = stored.unwrap_or(&NOBODY);
    let is_typed = text.len() <= PASSWORD_BYTES_MAX;
    let text = if is_typed { text } else { "" };
    let is_right = PasswordHash::new(phc)
        .is_ok_and(|hash| hasher().verify_password(text.as_bytes(), &hash).is_ok());
    is_right && is_typed && stored.is_some()
}

fn hash_text(text: &str) -> String {
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut salt).expect("the kernel gives randomness once it is up");
    hasher()
        .hash_password_with_salt(text.as_bytes(), &salt)
        .expect("the parameters are within argon2's range")
        .to_string()
}

fn hasher() -> Argon2<'static> {
    let params =
        Params::new(MEMORY_KIB, PASSES, 1, None).expect("the parameters are within argon2's range");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_enough_and_not_absurd() {
        assert_eq!(
            Password::parse("siete77").unwrap_err(),
            PasswordFault::TooShort
        );
        assert_eq!(
            Password::parse(&"x".repeat(PASSWORD_BYTES_MAX + 1)).unwrap_err(),
            PasswordFault::TooLong
        );
        assert!(Password::parse("ñandúes!").is_ok());
    }

    #[test]
    fn only_the_right_password_is_right() {
        let password = Password::parse("correct horse").unwrap();
        let stored = password.hash();
        assert!(
            stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{stored}"
        );
        assert_ne!(stored, password.hash());
        assert!(verify("correct horse", Some(&stored)));
        assert!(!verify("correct hors", Some(&stored)));
        assert!(!verify("nobody's password", None));
        assert!(!verify("correct horse", Some("not a hash")));
        assert_eq!(format!("{password:?}"), "Password(…)");
    }
}
