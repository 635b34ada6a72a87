//! Unguessable random values: session cookies and the token of the first start.

const SECRET_BYTES: usize = 32;

/// 256 random bits as 64 hexadecimal digits.
pub(crate) struct Secret(String);

impl Secret {
    /// A new secret.
    pub(crate) fn random() -> Self {
        let mut bytes = [0; SECRET_BYTES];
        getrandom::fill(&mut bytes).expect("the kernel gives randomness once it is up");
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The digits.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// True if `text` is the same. Takes a time that does not depend on where they differ, so an
    /// attacker cannot find it digit by digit.
    pub(crate) fn is_equal(&self, text: &str) -> bool {
        is_equal(&self.0, text)
    }
}

/// Compares in a time that does not depend on where the texts differ.
pub(crate) fn is_equal(ours: &str, theirs: &str) -> bool {
    // `black_box` keeps the compiler from stopping at the first difference.
    let pairs = ours.bytes().zip(theirs.bytes());
    let difference = pairs.fold(0, |difference, (ours, theirs)| difference | (ours ^ theirs));
    ours.len() == theirs.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_equals_only_itself() {
        let secret = Secret::random();
        assert_eq!(secret.as_str().len(), 2 * SECRET_BYTES);
        assert!(secret.is_equal(secret.as_str()));
        assert!(!secret.is_equal(Secret::random().as_str()));
        assert!(!secret.is_equal(&secret.as_str()[1..]));
        assert!(!secret.is_equal(""));
    }
}
