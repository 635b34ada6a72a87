//! Random values that nobody can guess: session cookies and the token of the first start.

const SECRET_BYTES: usize = 32;

/// 256 random bits as 64 hexadecimal digits.
pub(crate) struct Secret(String);

impl Secret {
    /// A new one.
    pub(crate) fn random() -> Self {
        let mut bytes = [0; SECRET_BYTES];
        getrandom::fill(&mut bytes).expect("the kernel gives randomness once it is up");
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Its text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `text` is the same, in a time that does not depend on where they differ.
    pub(crate) fn is_equal(&self, text: &str) -> bool {
        let difference = self
            .0
            .bytes()
            .zip(text.bytes())
            .fold(0, |difference, (ours, theirs)| difference | (ours ^ theirs));
        self.0.len() == text.len() && std::hint::black_box(difference) == 0
    }
}

/// 32 random base62 digits, each equally likely: what an API key is made of.
pub(crate) fn random_base62() -> [u8; 32] {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut digits = [0; 32];
    let mut bytes = [0; 1];
    for digit in &mut digits {
        *digit = loop {
            getrandom::fill(&mut bytes).expect("the kernel gives randomness once it is up");
            // Six bits number 64 digits; the two that there are not are drawn again.
            if let Some(digit) = DIGITS.get(usize::from(bytes[0] >> 2)) {
                break *digit;
            }
        };
    }
    digits
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
