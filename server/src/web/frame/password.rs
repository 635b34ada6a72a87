//! Passwords: the rules for new ones, and their hashes (argon2id).

use std::fmt;
use std::sync::LazyLock;

use argon2::password_hash::phc::{Output, ParamsString, Salt};
use argon2::{Algorithm, Argon2, Block, Params, PasswordHash, Version};

use crate::limits::{PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN};

/// Parameters of argon2id, the first choice of OWASP's recommendation. Chosen here.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const SALT_BYTES: usize = 16;

/// Memory for hashing, reused by one thread so that not every hash makes the kernel map and clear
/// 19 MiB.
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

/// A password of an accepted length.
///
/// Its `Debug` does not show it.
#[derive(Clone)]
pub struct Password(String);

/// Reason why a text is not accepted as a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordRejection {
    /// Fewer than [`PASSWORD_CHARS_MIN`] characters.
    #[error("a password has at least {PASSWORD_CHARS_MIN} characters")]
    TooShort,
    /// More than [`PASSWORD_BYTES_MAX`] bytes.
    #[error("a password has at most {PASSWORD_BYTES_MAX} bytes")]
    TooLong,
    /// One of the passwords that are tried first: a common one, a row of keys, the address.
    #[error("this password is one of the first that an attacker tries: choose another one")]
    TooCommon,
}

impl Password {
    /// Accepts the typed text, for the account with this address.
    pub fn parse_for(text: &str, email: &str) -> Result<Self, PasswordRejection> {
        let password = Self::parse(text)?;
        if is_of_address(text, &email.to_lowercase()) {
            return Err(PasswordRejection::TooCommon);
        }
        Ok(password)
    }

    /// Accepts the typed text. Nothing is trimmed.
    pub fn parse(text: &str) -> Result<Self, PasswordRejection> {
        if text.chars().count() < PASSWORD_CHARS_MIN {
            return Err(PasswordRejection::TooShort);
        }
        if PASSWORD_BYTES_MAX < text.len() {
            return Err(PasswordRejection::TooLong);
        }
        if is_common(text) {
            return Err(PasswordRejection::TooCommon);
        }
        Ok(Self(text.to_owned()))
    }

    /// The PHC string to store, with a new random salt: argon2id, 19 MiB, two passes.
    ///
    /// Cost: about 20 ms and 19 MiB; in the server it runs on the password pool only.
    pub fn hash(&self) -> String {
        self.hash_in(&mut Workspace::default())
    }

    /// [`Password::hash`] in existing memory.
    pub(crate) fn hash_in(&self, workspace: &mut Workspace) -> String {
        hash_text(&self.0, workspace)
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// True if the text is the address, its first part, or one of them with digits and signs around it.
fn is_of_address(text: &str, email: &str) -> bool {
    let text = text.to_lowercase();
    let (local, domain) = email.split_once('@').unwrap_or((email, ""));
    let core = text.trim_matches(|c: char| !c.is_alphabetic());
    text == email || text == local || core == local || (!core.is_empty() && core == domain)
}

/// True for passwords that are tried first: those of a list of common ones (also with digits and
/// signs after them), one short piece repeated, and neighbours in an alphabet or on a keyboard.
fn is_common(text: &str) -> bool {
    let text = text.to_lowercase();
    let core = text.trim_end_matches(|c: char| !c.is_alphabetic());
    let is_listed = |text: &str| COMMON_PASSWORDS.lines().any(|common| common == text);
    is_listed(&text)
        || is_listed(core)
        || is_repeated(text.as_bytes())
        || ROWS.iter().any(|row| row.contains(text.as_str()))
}

/// True if the text is one piece of up to four bytes, repeated.
fn is_repeated(text: &[u8]) -> bool {
    let repeats = |length: usize| {
        text.iter()
            .zip(text.iter().skip(length))
            .all(|(left, right)| left == right)
    };
    (1..=4).any(repeats)
}

/// Passwords of at least eight letters, or shorter words that people lengthen with digits, that
/// lists of leaked passwords have in front, in lower case. Chosen here.
const COMMON_PASSWORDS: &str = include_str!("../assets/common_passwords.txt");
/// Alphabets and rows of keyboards, in both directions.
const ROWS: [&str; 9] = [
    "0123456789012345678901234567890",
    "0987654321098765432109876543210",
    "abcdefghijklmnopqrstuvwxyz",
    "zyxwvutsrqponmlkjihgfedcba",
    "qwertyuiopasdfghjklñzxcvbnm",
    "qwertyuiopasdfghjklzxcvbnm",
    "mnbvcxzlkjhgfdsapoiuytrewq",
    "1q2w3e4r5t6y7u8i9o0p",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik",
];

/// Returns true if `text` is the password of `stored`.
///
/// Without a stored hash, because there is no such account, it verifies against another hash and
/// returns false: the time must not reveal whether an account exists.
///
/// Cost: that of [`Password::hash`].
pub(crate) fn verify_in(workspace: &mut Workspace, text: &str, stored: Option<&str>) -> bool {
    static UNKNOWN_ACCOUNT: LazyLock<String> =
        LazyLock::new(|| hash_text("no account's password", &mut Workspace::default()));
    let phc = stored.unwrap_or(&UNKNOWN_ACCOUNT);
    let is_typed = text.len() <= PASSWORD_BYTES_MAX;
    let text = if is_typed { text } else { "" };
    is_hash_of(workspace, text, phc).unwrap_or(false) && is_typed && stored.is_some()
}

/// Returns true if the PHC string is a hash of this text.
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
    // `Output` compares in constant time.
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
    fn hashes_agree_with_the_library() {
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
    fn a_password_has_an_accepted_length() {
        assert_eq!(
            Password::parse("siete77").unwrap_err(),
            PasswordRejection::TooShort
        );
        assert_eq!(
            Password::parse(&"x".repeat(PASSWORD_BYTES_MAX + 1)).unwrap_err(),
            PasswordRejection::TooLong
        );
        assert!(Password::parse("ñandúes!").is_ok());
    }

    #[test]
    fn passwords_that_are_tried_first_are_rejected() {
        let email = "ana.lopez@example.org";
        let check = |text: &str, is_accepted: bool| {
            let expected = if is_accepted {
                None
            } else {
                Some(PasswordRejection::TooCommon)
            };
            let rejection = Password::parse_for(text, email).err();
            assert_eq!(rejection, expected, "{text}");
        };
        for common in [
            "password",
            "Password",
            "password1!",
            "contraseña",
            "12345678",
            "87654321",
            "aaaaaaaa",
            "abcabcabc",
            "qwertyuiop",
            "1q2w3e4r",
            "iloveyou",
            "subcat123",
            "ana.lopez@example.org",
            "ANA.LOPEZ",
            "ana.lopez99",
            "example.org",
        ] {
            check(common, false);
        }
        for good in [
            "correct horse",
            "siete patos",
            "mi gata Luna 7",
            "password manager",
            "ñandúes!",
        ] {
            check(good, true);
        }
        let common = COMMON_PASSWORDS.lines();
        assert!(common.clone().all(|line| line == line.to_lowercase()));
        assert!(100 < common.count());
    }

    #[test]
    fn only_the_right_password_is_verified() {
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
        assert!(!verify("no account's password", None));
        assert!(!verify("correct horse", Some("not a hash")));
        assert!(verify("correct horse", Some(&stored)));
        assert_eq!(format!("{password:?}"), "Password(…)");
    }
}
