//! Passwords: what is accepted as one, and what is stored of it.

use std::fmt;
use std::sync::LazyLock;

use argon2::password_hash::phc::{Output, ParamsString, Salt};
use argon2::{Algorithm, Argon2, Block, Params, PasswordHash, Version};

/// Characters of a password, at least (API.md, 12.5).
pub const PASSWORD_CHARS_MIN: usize = 8;
/// Bytes of a password, at most: a bound on the work of one request.
pub const PASSWORD_BYTES_MAX: usize = 256;

const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const SALT_BYTES: usize = 16;

/// The memory in which passwords are hashed: taken once, used again, so that a hash does not ask
/// the kernel for 19 MiB of fresh pages.
#[derive(Default)]
pub(crate) struct Workspace(Vec<Block>);

impl Workspace {
    fn blocks(&mut self, count: usize) -> &mut [Block] {
        if self.0.len() < count {
            self.0.resize(count, Block::default());
        }
        &mut self.0[..count]
    }
}

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
        self.hash_in(&mut Workspace::default())
    }

    /// [`Password::hash`], in memory that is there already.
    pub(crate) fn hash_in(&self, workspace: &mut Workspace) -> String {
        hash_text(&self.0, workspace)
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
pub(crate) fn verify_in(workspace: &mut Workspace, text: &str, stored: Option<&str>) -> bool {
    static NOBODY: LazyLock<String> =
        LazyLock::new(|| hash_text("nobody's password", &mut Workspace::default()));
    let phc = stored.unwrap_or(&NOBODY);
    let is_typed = text.len() <= PASSWORD_BYTES_MAX;
    let text = if is_typed { text } else { "" };
    is_hash_of(workspace, text, phc).unwrap_or(false) && is_typed && stored.is_some()
}

/// Whether the PHC string is that of this text.
fn is_hash_of(
    workspace: &mut Workspace,
    text: &str,
    phc: &str,
) -> argon2::password_hash::Result<bool> {
    let known = PasswordHash::new(phc)?;
    let (Some(salt), Some(expected)) = (&known.salt, &known.hash) else {
        return Ok(false);
    };
    let hasher = Argon2::new(
        Algorithm::try_from(known.algorithm.as_str())?,
        Version::try_from(known.version.unwrap_or_default())?,
        Params::try_from(&known)?,
    );
    // Outputs compare in a time that tells nothing.
    Ok(digest(&hasher, workspace, text, salt)? == *expected)
}

fn hash_text(text: &str, workspace: &mut Workspace) -> String {
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut salt).expect("the kernel gives randomness once it is up");
    phc_string(text, &salt, workspace).expect("the parameters are within argon2's range")
}

fn phc_string(
    text: &str,
    salt: &[u8],
    workspace: &mut Workspace,
) -> argon2::password_hash::Result<String> {
    let params = Params::new(MEMORY_KIB, PASSES, 1, None)?;
    let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let hash = PasswordHash {
        algorithm: Algorithm::Argon2id.ident(),
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(hasher.params())?,
        salt: Some(Salt::new(salt)?),
        hash: Some(digest(&hasher, workspace, text, salt)?),
    };
    Ok(hash.to_string())
}

fn digest(
    hasher: &Argon2<'_>,
    workspace: &mut Workspace,
    text: &str,
    salt: &[u8],
) -> argon2::password_hash::Result<Output> {
    let params = hasher.params();
    let length = params.output_len().unwrap_or(Params::DEFAULT_OUTPUT_LEN);
    let mut bytes = vec![0; length];
    let blocks = workspace.blocks(params.block_count());
    hasher.hash_password_into_with_memory(text.as_bytes(), salt, &mut bytes, blocks)?;
    Ok(Output::new(&bytes)?)
}

#[cfg(test)]
mod tests {
    use argon2::{PasswordHasher, PasswordVerifier};

    use super::*;

    #[test]
    fn hashes_are_those_of_the_library() {
        let library = Argon2::default();
        let stored = Password::parse("correct horse").unwrap().hash();
        let hash = PasswordHash::new(&stored).unwrap();
        library.verify_password(b"correct horse", &hash).unwrap();
        let other = library.hash_password_with_salt(b"ot", &[7; 16]).unwrap();
        let mut workspace = Workspace::default();
        let other = other.to_string();
        assert!(verify_in(&mut workspace, "ot", Some(&other)));
        assert!(!verify_in(&mut workspace, "to", Some(&other)));
    }

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
        let mut workspace = Workspace::default();
        let mut verify = |text: &str, stored| verify_in(&mut workspace, text, stored);
        assert!(verify("correct horse", Some(&stored)));
        assert!(!verify("correct hors", Some(&stored)));
        assert!(!verify("nobody's password", None));
        assert!(!verify("correct horse", Some("not a hash")));
        assert!(verify("correct horse", Some(&stored)));
        assert_eq!(format!("{password:?}"), "Password(…)");
    }
}
